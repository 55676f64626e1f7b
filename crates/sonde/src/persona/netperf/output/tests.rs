//! Transcripts of the original, played again.

mod classic;
mod others;
mod scene;
mod selected;
