//! Requests that a server left on a connection that it said it would end: none of them was served, and each is asked once more on the next
//! connection, as clients do. Its time is that from its first departure on.

use protocol::application::Speech;
use protocol::link::Fault;
use rustix::net::send;

use super::Framed;

impl<S: Speech> Framed<S> {
    /// Sets that requests differ by their number alone: one can be written again.
    pub fn ask_alike(&mut self) {
        self.alike = true;
    }

    /// The server has said that it serves nothing more on this connection. What is out is asked once more; what was asked so already goes down.
    #[cold]
    pub(super) fn end_as_announced(&mut self) {
        if self.alike && self.door.anew.is_none() {
            let first = self.asked_again;
            let (again, down): (Vec<u64>, _) = self.outstanding.drain(..).partition(|number| *number >= first);
            self.outstanding.extend(down);
            self.again.extend(again);
            self.asked_again = self.numbered;
        }
        self.spend();
    }

    /// Makes the connection anew where requests wait for it; those go down where it cannot be made.
    #[cold]
    pub(super) fn ask_again(&mut self) {
        // A failure is told of each of them.
        let _told = self.renew();
    }

    /// Hands over the requests that are asked once more, on a connection that was just made.
    pub(super) fn hand_over_again(&mut self) -> Result<(), Fault> {
        if self.again.is_empty() {
            return Ok(());
        }
        let mut request = self.speech.request();
        while let Some(number) = self.again.pop_front() {
            self.speech.mark(&mut request, number);
            let handed = self.put_as(number, &request, |socket, octets, flags| send(socket, octets, flags));
            if let Err(fault) = handed {
                self.lost.push_back(number);
                self.lost.append(&mut self.again);
                return Err(fault);
            }
        }
        Ok(())
    }
}
