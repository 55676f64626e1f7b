//! ICMP echo, which every kernel answers.
