use super::*;

fn redact_text(text: &str, secrets: &[&str]) -> String {
    redact(text.to_owned(), secrets.iter().copied())
}

#[test]
fn secret_is_hidden_however_its_characters_are_spelled() {
    let spelled = |secret: &str, spellings: &[&str]| {
        for spelling in spellings {
            let text = format!("ä?k={spelling}&x ü");
            assert_eq!(redact_text(&text, &[secret]), "ä?k=******&x ü", "{secret} as {spelling}");
        }
    };
    spelled(
        "swordfish",
        &["swordfish", "%73wordfis%68", "sword\\u0066ish", "&#115;word&#x66;ish", "%2573wordfish"],
    );
    spelled(
        "se kret+ä",
        &["se kret+ä", "se+kret%2B%C3%A4", "se%20kret%2b%c3%a4", "se kret+\\u00e4", "se kret+\\u00C3\\u00A4"],
    );
    spelled("se kret+ä", &["se kret+Ã¤", "se kret+&#228;", "se kret+&#xE4;", "se%2520kret%252B%25C3%25A4"]);
    spelled(
        "quo\"te",
        &["quo\"te", "quo\\\"te", "quo\\u0022te", "quo%22te", "quo&quot;te", "quo&#34;te", "quo\\\\\\\"te"],
    );
    spelled("ba\\ck/", &["ba\\ck/", "ba\\\\ck\\/", "ba\\\\\\\\ck/", "ba%5Cck%2F", "ba\\u005cck/"]);
    spelled(
        "a<b>&'c",
        &[
            "a<b>&'c",
            "a&lt;b&gt;&amp;&#39;c",
            "a&lt;b&gt;&amp;&#x27;c",
            "a\\u003cb\\u003e\\u0026'c",
            "a&#060;b>&'c",
        ],
    );
    spelled("a<b>&'c", &["a&amp;lt;b&amp;gt;&amp;amp;&amp;apos;c", "a%3Cb%3e%26%27c"]);
    spelled(
        "line\none\t",
        &["line\none\t", "line\\none\\t", "line%0Aone%09", "line\\\\none\\\\t", "line\\u000aone\\u0009"],
    );
    spelled(
        "gr😀n",
        &[
            "gr😀n",
            "gr\\ud83d\\ude00n",
            "gr%F0%9F%98%80n",
            "gr&#128512;n",
            "gr&#x1F600;n",
            "gr\\\\ud83d\\\\ude00n",
        ],
    );
}

#[test]
fn escape_like_secret_is_found_plain_and_escaped() {
    for (secret, text) in [
        ("50%25off", "50%25off"),
        ("50%25off", "50%2525off"),
        ("a\\nb\\\\", "a\\nb\\\\"),
        ("a\\nb\\\\", "a\\\\nb\\\\\\\\"),
        ("a&amp;b", "a&amp;b"),
        ("a&amp;b", "a&amp;amp;b"),
        ("%%%%", "%%%%"),
        ("%%%%", "%25%25%25%25"),
        ("\\\\\\\\", "\\\\\\\\"),
    ] {
        assert_eq!(redact_text(text, &[secret]), "******", "{secret} as {text}");
    }
}

#[test]
fn text_without_secret_is_unchanged() {
    for text in [
        "",
        "swordfis.",
        "swo",
        "%7",
        "%zzab",
        "\\u00",
        "\\ud83dx",
        "&#;",
        "&#xD800;",
        "&#99999999999;",
        "\\",
        "ÃÂ",
        "é%C3",
    ] {
        assert_eq!(redact_text(text, &["swordfish", "ä😀xx"]), text);
    }
}

#[test]
fn value_of_three_bytes_or_less_is_left() {
    assert_eq!(redact_text("a 1 key abc", &["", "1", "abc", "key "]), "a 1 ******abc");
}

#[test]
fn overlapping_secrets_are_redacted_without_rest() {
    assert_eq!(redact_text("Bearer swordfish.", &["swordfish", "Bearer swordfish"]), "******.");
    assert_eq!(redact_text("xabcdef", &["xabc", "abcdef"]), "******");
    assert_eq!(redact_text("abcdef abcdef", &["abcd", "cdef"]), "****** ******");
    assert_eq!(redact_text("swordfishswordfish", &["swordfish"]), "************");
}

#[test]
fn secret_cut_at_the_end_is_hidden() {
    for text in ["swor", "swordfis", "%73word", "swordfis%", "swordfis%6", "sword\\u00", "swordfis&#10"] {
        assert_eq!(redact_text(&format!("k={text}"), &["swordfish"]), "k=******", "{text}");
    }
}

#[test]
fn of_a_long_text_the_beginning_is_read() {
    let text = format!("{}{}", "swor%64fish ".repeat(1000), "ä".repeat(100_000));
    let hidden = redact_text(&text, &["swordfish"]);
    assert!(hidden.starts_with("****** ******") && !hidden.contains("swor"), "{hidden}");
    assert!(hidden.len() < LONGEST);
}

#[test]
fn nobody_makes_it_try_for_ever() {
    for (text, secret) in [
        ("\\".repeat(60_000), "\\".repeat(10_000)),
        ("%25".repeat(20_000), "%".repeat(10_000)),
        ("a".repeat(60_000), "a".repeat(10_000)),
    ] {
        assert_eq!(redact_text(&text, &[&secret]), MASK, "it would take more steps than there are");
        let mut steps = STEPS;
        while steps > 0 {
            longest_match(text.as_bytes(), secret.as_bytes(), &mut steps);
        }
        assert_eq!(longest_match(text.as_bytes(), secret.as_bytes(), &mut steps), None);
    }
}
