//! Detached signatures of files that are carried from machine to machine, such as packages.
//!
//! A signature is Ed25519 (RFC 8032) over the ASCII text `sha256:` and the 64 hexadecimal digits of the hash of the
//! file. It is one line of standard base64, in a file of its own that has the extension `sig` behind the whole name.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::pkey::{Id, PKey, Private, Public};
use openssl::sign::{Signer, Verifier};
use sha2::{Digest, Sha256};

/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 64;
/// The begin of every PEM block.
const PEM_BEGIN: &str = "-----BEGIN ";

/// The reason for which a text is no key of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileKeyError {
    /// There is no PEM block, or more than one.
    #[error("expected one PEM block, as openssl writes it")]
    NotOnePem,
    /// A private key is given in place of a public one.
    #[error("this is a private key; write its public half with `openssl pkey -in KEY -pubout`")]
    IsPrivate,
    /// The key is encrypted.
    #[error("this key is encrypted; decrypt it with `openssl pkey -in KEY`")]
    Encrypted,
    /// The block holds no key that can be read.
    #[error("expected an Ed25519 {0}")]
    Unreadable(&'static str),
    /// The library refused to sign.
    #[error("the file could not be signed")]
    Signing,
}

/// The reason for which a file is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The signature has another form.
    #[error("its signature is no line of base64 of 64 bytes")]
    Malformed,
    /// No trusted key has made the signature of this content.
    #[error("its signature is of none of the trusted keys, or the file was changed after it was signed")]
    Untrusted,
}

/// A private key that signs files. `Debug` shows nothing of it.
pub struct FileSigningKey(PKey<Private>);

impl FileSigningKey {
    /// Parses an unencrypted PKCS#8 key in PEM, as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// A [`FileKeyError`] if the text is no such key.
    pub fn from_pem(pem: &str) -> Result<Self, FileKeyError> {
        const FORM: FileKeyError =
            FileKeyError::Unreadable("private key: PKCS#8 in PEM (`openssl genpkey -algorithm ed25519`)");
        require_one_block(pem)?;
        if pem.contains("ENCRYPTED") {
            return Err(FileKeyError::Encrypted);
        }
        // Without this callback the library would ask the terminal for a passphrase.
        let key = PKey::private_key_from_pem_callback(pem.as_bytes(), |_| Ok(0)).map_err(|_| FORM)?;
        if key.id() == Id::ED25519 { Ok(Self(key)) } else { Err(FORM) }
    }

    /// Signs a file and returns the line of its signature, without a line break.
    ///
    /// # Errors
    /// [`FileKeyError::Signing`] if the library fails.
    pub fn sign(&self, content: &[u8]) -> Result<String, FileKeyError> {
        let mut signer = Signer::new_without_digest(&self.0).map_err(|_| FileKeyError::Signing)?;
        let signature = signer.sign_oneshot_to_vec(signed_text(content).as_bytes());
        Ok(STANDARD.encode(signature.map_err(|_| FileKeyError::Signing)?))
    }
}

impl fmt::Debug for FileSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSigningKey").finish_non_exhaustive()
    }
}

/// A public key that verifies files.
#[derive(Clone)]
pub struct FileVerifyingKey(PKey<Public>);

impl FileVerifyingKey {
    /// Parses a public key (SPKI) in PEM, as `openssl pkey -pubout` writes it.
    ///
    /// # Errors
    /// A [`FileKeyError`] if the text is no such key.
    pub fn from_pem(pem: &str) -> Result<Self, FileKeyError> {
        const FORM: FileKeyError =
            FileKeyError::Unreadable("public key: SPKI in PEM (`openssl pkey -in KEY -pubout`)");
        require_one_block(pem)?;
        if pem.contains("PRIVATE KEY-----") {
            return Err(FileKeyError::IsPrivate);
        }
        let key = PKey::public_key_from_pem(pem.as_bytes()).map_err(|_| FORM)?;
        if key.id() == Id::ED25519 { Ok(Self(key)) } else { Err(FORM) }
    }

    fn has_signed(&self, content: &[u8], signature: &[u8]) -> bool {
        let verifier = Verifier::new_without_digest(&self.0);
        let verified = verifier
            .and_then(|mut verifier| verifier.verify_oneshot(signature, signed_text(content).as_bytes()));
        // A failure of the library is no signature.
        verified.unwrap_or(false)
    }
}

impl fmt::Debug for FileVerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileVerifyingKey").finish_non_exhaustive()
    }
}

/// Checks that one of these keys has signed a file. `line` is the content of its signature file.
///
/// # Errors
/// A [`SignatureError`] if none has.
pub fn verify_file(keys: &[FileVerifyingKey], content: &[u8], line: &str) -> Result<(), SignatureError> {
    let signature = STANDARD.decode(line.trim_end_matches(['\r', '\n']));
    let signature = signature.ok().filter(|bytes| bytes.len() == SIGNATURE_BYTES);
    let signature = signature.ok_or(SignatureError::Malformed)?;
    match keys.iter().any(|key| key.has_signed(content, &signature)) {
        true => Ok(()),
        false => Err(SignatureError::Untrusted),
    }
}

/// Returns the place of the signature of a file: `shop.json.sig` for `shop.json`.
pub fn signature_path(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".sig");
    path.into()
}

/// Returns the text that a signature is made over.
fn signed_text(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

fn require_one_block(pem: &str) -> Result<(), FileKeyError> {
    if pem.matches(PEM_BEGIN).count() == 1 { Ok(()) } else { Err(FileKeyError::NotOnePem) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (FileSigningKey, FileVerifyingKey) {
        let key = PKey::generate_ed25519().unwrap();
        let text = |pem: Vec<u8>| String::from_utf8(pem).unwrap();
        let private = text(key.private_key_to_pem_pkcs8().unwrap());
        let public = text(key.public_key_to_pem().unwrap());
        (FileSigningKey::from_pem(&private).unwrap(), FileVerifyingKey::from_pem(&public).unwrap())
    }

    #[test]
    fn only_trusted_signature_of_same_content_passes() {
        let ((signing, own), (_, other)) = (pair(), pair());
        let line = signing.sign(b"{}\n").unwrap();
        let check = |keys: &[FileVerifyingKey], content: &[u8], line: &str| verify_file(keys, content, line);
        let both = [other.clone(), own.clone()];
        assert_eq!(check(&both, b"{}\n", &line), Ok(()));
        assert_eq!(check(&both, b"{}\n", &format!("{line}\r\n")), Ok(()));
        assert_eq!(check(&both, b"{}", &line), Err(SignatureError::Untrusted));
        assert_eq!(check(&[other], b"{}\n", &line), Err(SignatureError::Untrusted));
        assert_eq!(check(&[], b"{}\n", &line), Err(SignatureError::Untrusted));
        let (cut, spaced, doubled) = (&line[1..], format!(" {line}"), format!("{line}\n{line}"));
        for malformed in ["", "AAAA", cut, spaced.as_str(), doubled.as_str()] {
            assert_eq!(check(&both, b"{}\n", malformed), Err(SignatureError::Malformed), "{malformed}");
        }
    }

    #[test]
    fn signature_is_over_hash_in_ascii() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(signed_text(b""), empty);
        assert_eq!(signature_path(Path::new("a/shop.json")), Path::new("a/shop.json.sig"));
    }

    #[test]
    fn other_keys_are_refused_with_remedy() {
        let ed25519 = PKey::generate_ed25519().unwrap();
        let text = |pem: Vec<u8>| String::from_utf8(pem).unwrap();
        let private = text(ed25519.private_key_to_pem_pkcs8().unwrap());
        let public = text(ed25519.public_key_to_pem().unwrap());
        let cipher = openssl::symm::Cipher::aes_256_cbc();
        let encrypted = text(ed25519.private_key_to_pem_pkcs8_passphrase(cipher, b"secret").unwrap());
        let x25519 = PKey::generate_x25519().unwrap();
        let foreign = text(x25519.private_key_to_pem_pkcs8().unwrap());
        let foreign_public = text(x25519.public_key_to_pem().unwrap());
        let signing = |pem: &str| FileSigningKey::from_pem(pem).unwrap_err();
        assert_eq!(signing("key"), FileKeyError::NotOnePem);
        assert_eq!(signing(&format!("{private}{private}")), FileKeyError::NotOnePem);
        assert_eq!(signing(&encrypted), FileKeyError::Encrypted);
        for pem in [&public, &foreign] {
            assert!(signing(pem).to_string().contains("openssl genpkey"), "{}", signing(pem));
        }
        let verifying = |pem: &str| FileVerifyingKey::from_pem(pem).unwrap_err();
        assert_eq!(verifying(&private), FileKeyError::IsPrivate);
        assert!(verifying(&foreign_public).to_string().contains("-pubout"));
        assert!(!format!("{:?}", pair()).contains("PKey"));
    }
}
