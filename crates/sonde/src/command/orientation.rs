//! What bare `sonde` says: the questions there are, and the command that answers each.

use crate::exit::Exit;
use crate::output::Output;

const TEXT: &str = "\
sonde measures what two endpoints can do with the network between them.

  sonde HOST                how far is HOST, and which number is right? Nothing needed there
  sonde rtt                 try it here: a reflector of our own, over loopback
  sonde serve               start the far side, on the other machine
  sonde rtt HOST            what does one exchange with HOST cost?
  sonde load HOST --rate 10k
                            what does it cost at 10 000 a second?
  sonde check HOST          does anyone answer there, and how?
  sonde self                what can this machine resolve at all?
  sonde show FILE           print a record again
  sonde report FILE -o page.html
                            a page of it, with charts

sonde COMMAND --help explains each with examples; sonde --help lists them all.
";

/// Prints it.
pub fn print(output: &Output) -> Exit {
    output.result(TEXT);
    Exit::Done
}
