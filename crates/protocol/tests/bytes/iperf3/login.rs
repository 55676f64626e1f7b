//! Tokens of OpenSSL and of the real iperf3, with keys in each form.

use protocol::iperf3::login::{KeyError, Login, Padding, PrivateKey, PublicKey, Refusal, Token, Users, password_hash};
use test_case::test_case;

const PRIVATE: &str = include_str!("../../fixtures/iperf3/login/private.pem");
const PRIVATE_PKCS1: &str = include_str!("../../fixtures/iperf3/login/private-pkcs1.pem");
const ENCRYPTED: &str = include_str!("../../fixtures/iperf3/login/private-encrypted.pem");
const PUBLIC: &str = include_str!("../../fixtures/iperf3/login/public.pem");
const PUBLIC_PKCS1: &str = include_str!("../../fixtures/iperf3/login/public-pkcs1.pem");
/// mario's, encrypted by OpenSSL 3.0 with its defaults (`pkeyutl -encrypt`, `rsa_padding_mode:oaep` and `pkcs1`).
const BY_OPENSSL: [(&str, Padding); 2] = [
    (include_str!("../../fixtures/iperf3/login/oaep.txt"), Padding::Oaep),
    (include_str!("../../fixtures/iperf3/login/pkcs1.txt"), Padding::Pkcs1),
];
/// mario's, as iperf3 3.12 sent it.
const BY_IPERF3: &str = include_str!("../../fixtures/iperf3/login/iperf3-3.12.txt");

const MADE_S: i64 = 1_795_223_522;

fn mario(made_s: i64) -> Token {
    Token { user: "mario".to_owned(), password: "rossi".to_owned(), made_s }
}

fn login(padding: Padding) -> Login {
    let users = Users::read(&format!("mario,{}\n", password_hash("mario", "rossi"))).unwrap();
    Login { key: PrivateKey::from_pem(PRIVATE).unwrap(), users, skew_s: 10, padding }
}

#[test]
fn tokens_of_openssl_and_of_iperf3_are_read() {
    for (sealed, padding) in BY_OPENSSL {
        for key in [PRIVATE, PRIVATE_PKCS1] {
            assert_eq!(PrivateKey::from_pem(key).unwrap().open(sealed, padding), Some(mario(MADE_S)), "{padding:?}");
        }
    }
    let token = PrivateKey::from_pem(PRIVATE).unwrap().open(BY_IPERF3, Padding::Pkcs1);
    assert_eq!(token, Some(mario(1_795_305_929)));
}

#[test]
fn what_is_sealed_is_opened_with_the_same_padding_alone() {
    let key = PrivateKey::from_pem(PRIVATE).unwrap();
    for public in [PUBLIC, PUBLIC_PKCS1] {
        let public = PublicKey::from_pem(public).unwrap();
        for (padding, other) in [(Padding::Oaep, Padding::Pkcs1), (Padding::Pkcs1, Padding::Oaep)] {
            let sealed = public.seal(&mario(5), padding).unwrap();
            assert_eq!((sealed.len(), sealed.contains('\n')), (344, false));
            assert_eq!(key.open(&sealed, padding), Some(mario(5)));
            assert_eq!(key.open(&sealed, other), None);
            assert_ne!(public.seal(&mario(5), padding), Some(sealed), "never the same twice");
        }
    }
}

#[test]
fn a_password_must_fit_the_key() {
    let public = PublicKey::from_pem(PUBLIC).unwrap();
    let long = Token { password: "x".repeat(300), ..mario(5) };
    assert_eq!((public.seal(&long, Padding::Oaep), public.seal(&long, Padding::Pkcs1)), (None, None));
}

#[test]
fn who_is_in_the_file_is_let_in_while_the_token_is_fresh() {
    for (sealed, padding) in BY_OPENSSL {
        let login = login(padding);
        for now in [MADE_S, MADE_S - 10, MADE_S + 10] {
            assert_eq!(login.admit(Some(sealed), now), Ok("mario".to_owned()));
        }
        for now in [MADE_S - 11, MADE_S + 11, i64::MIN, i64::MAX] {
            assert_eq!(login.admit(Some(sealed), now), Err(Refusal::Time));
        }
    }
}

#[test]
fn nobody_else_is_let_in() {
    let login = login(Padding::Oaep);
    let sealed = |token: Token| PublicKey::from_pem(PUBLIC).unwrap().seal(&token, Padding::Oaep).unwrap();
    let admit = |token: &str| login.admit(Some(token), 5).unwrap_err();
    assert_eq!(login.admit(None, 5), Err(Refusal::NoToken));
    assert_eq!(admit(&sealed(Token { password: "Rossi".to_owned(), ..mario(5) })), Refusal::Unknown);
    assert_eq!(admit(&sealed(Token { user: "luigi".to_owned(), ..mario(5) })), Refusal::Unknown);
    for text in ["", "?", "AAAA", &"A".repeat(344), BY_IPERF3, &"A".repeat(100_000)] {
        assert_eq!(admit(text), Refusal::Unreadable, "{text}");
    }
}

#[test_case(ENCRYPTED, KeyError::Encrypted; "encrypted")]
#[test_case(PUBLIC, KeyError::None("PRIVATE"); "a public one")]
#[test_case("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", KeyError::Key; "no key")]
#[test_case("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", KeyError::Key; "no key in the old form")]
fn what_is_no_private_key_is_told(text: &str, why: KeyError) {
    assert_eq!(PrivateKey::from_pem(text).err(), Some(why));
}

#[test]
fn what_is_no_public_key_is_told() {
    assert_eq!(PublicKey::from_pem(PRIVATE).err(), Some(KeyError::None("PUBLIC")));
    assert_eq!(PublicKey::from_pem(&PUBLIC.replace("MIIB", "MIIC")).err(), Some(KeyError::Key));
    let shown = format!("{:?} {:?}", PublicKey::from_pem(PUBLIC).unwrap(), PrivateKey::from_pem(PRIVATE).unwrap());
    assert_eq!(shown, "PublicKey(2048 bits) PrivateKey(2048 bits)", "no key is shown");
}
