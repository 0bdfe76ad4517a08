//! Addresses with the ASCII form of their domain.

use lettre::Address;
use lettre::message::Mailbox;
use url::Host;

/// Returns a mailbox with the ASCII form of its domain (`xn--…`), which every server takes. An address whose local part
/// is not ASCII needs a server of such addresses in any case, and stays as it is.
pub(crate) fn with_ascii_domain(mailbox: Mailbox) -> Mailbox {
    let (user, domain) = (mailbox.email.user(), mailbox.email.domain());
    // The parser of hosts would decode a percent sign, which is none of a mail.
    if !user.is_ascii() || domain.is_ascii() || domain.contains('%') {
        return mailbox;
    }
    match Host::parse(domain) {
        Ok(Host::Domain(domain)) => match Address::new(user, domain) {
            Ok(address) => Mailbox::new(mailbox.name.clone(), address),
            Err(_) => mailbox,
        },
        _ => mailbox,
    }
}

#[cfg(test)]
mod tests {
    use svc_functions::declarations::mail::mailbox;

    use super::*;

    #[test]
    fn domain_is_ascii_if_the_rest_is() {
        for (text, expected) in [
            ("a@exämple.com", "a@xn--exmple-cua.com"),
            ("Zoë <z@bücher.example>", "Zoë <z@xn--bcher-kva.example>"),
            ("a@Example.com", "a@Example.com"),
            ("ü@exämple.com", "ü@exämple.com"),
        ] {
            let (given, expected) = (mailbox(text).unwrap(), mailbox(expected).unwrap());
            assert_eq!(with_ascii_domain(given), expected, "{text}");
        }
    }
}
