//! Codes that people type: invitations, and the one that moves a place. 16 characters of Crockford's base 32, 80 random bits;
//! rooms know them by their hashes alone.

use sha2::{Digest, Sha256};
use shared::ids::{CodeHash, EventId};

/// A new code, in groups of four.
pub fn mint() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; CHARS];
    getrandom::fill(&mut random)?;
    let mut code = String::with_capacity(CHARS + CHARS / GROUP);
    for (index, byte) in random.iter().enumerate() {
        if index > 0 && index.is_multiple_of(GROUP) {
            code.push('-');
        }
        // 256 is eight times 32: each character is as likely as any other.
        code.push(char::from(ALPHABET[usize::from(byte % 32)]));
    }
    Ok(code)
}

/// The name of a code in the room of an event, however its letters were typed; `None`: no code reads like this.
pub fn hash(event: &EventId, typed: &str) -> Option<CodeHash> {
    if typed.len() > TYPED_BYTES_MAX {
        return None;
    }
    let read: Option<Vec<u8>> =
        typed.bytes().filter(|byte| !matches!(byte, b'-' | b' ')).map(character).collect();
    let read = read.filter(|read| read.len() == CHARS)?;
    let mut hash = Sha256::new_with_prefix("fairgate code\0");
    hash.update(event.as_str());
    hash.update([0]);
    hash.update(read);
    let mut named = [0; 16];
    named.copy_from_slice(&hash.finalize()[..16]);
    Some(CodeHash(named))
}

/// A character as codes are minted: capital, and what looks alike is the digit.
fn character(byte: u8) -> Option<u8> {
    let byte = match byte.to_ascii_uppercase() {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        other => other,
    };
    ALPHABET.contains(&byte).then_some(byte)
}

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CHARS: usize = 16;
const GROUP: usize = 4;
const TYPED_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_is_typed() {
        let event = EventId::parse("drop").unwrap();
        let code = mint().unwrap();
        assert_eq!((code.len(), code.matches('-').count()), (19, 3));
        let typed = code.to_lowercase().replace('-', " ").replace('0', "o").replace('1', "l");
        assert_eq!(hash(&event, &typed), hash(&event, &code));
        assert_ne!(hash(&event, &code), hash(&event, &mint().unwrap()));
        assert_ne!(hash(&event, &code), hash(&EventId::parse("other").unwrap(), &code));
        for none in ["", &code[1..], &format!("{code}0"), &code.replace('-', "*"), &"-".repeat(65)] {
            assert_eq!(hash(&event, none), None, "{none}");
        }
    }
}
