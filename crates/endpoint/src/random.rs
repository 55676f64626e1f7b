//! Random bytes from the kernel: session tokens, keys, nonces.

use std::io;

/// `N` unpredictable bytes. Blocks only in the first moments after a machine has booted.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0_u8; N];
    let mut have = 0;
    while have < N {
        let rest = &mut bytes[have..];
        // SAFETY: the pointer and length describe `rest`, which is ours alone.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        if let Ok(count) = usize::try_from(got) {
            have += count;
            continue;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_draws_differ() {
        assert_ne!(super::bytes::<16>().unwrap(), super::bytes::<16>().unwrap());
    }
}
