//! Tests of password hashes of this and other implementations.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use serde_json::{Map, Value, json};
use svc_engine::{
    ErrorCode, Message, RecordingMode, RecordingOptions, RecordingResult, RunOptions, RunOutcome,
};

use crate::support::{block_on, call, compile, engine, error, invalid};

fn hash(input: Value) -> String {
    let mut input = input;
    input["op"] = json!("password_hash");
    call("crypto", input, json!({})).unwrap().as_str().unwrap().to_owned()
}

fn verify(password: &str, hash: &str) -> Value {
    let input = json!({"op": "password_verify", "password": {"var": "data.p"}, "hash": {"var": "data.h"}});
    call("crypto", input, json!({"p": password, "h": hash})).unwrap()
}

#[test]
fn a_hash_of_another_maker_is_verified() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/passwords.json")).unwrap();
    let hashes = vectors["hashes"].as_array().unwrap();
    assert_eq!(hashes.len(), 34);
    for entry in hashes {
        let (password, hash) = (entry["password"].as_str().unwrap(), entry["hash"].as_str().unwrap());
        assert_eq!(verify(password, hash), true, "{hash}");
    }
    for entry in hashes.iter().filter(|entry| entry["hash"].as_str().unwrap().contains("m=8,")).take(3) {
        assert_eq!(verify("another", entry["hash"].as_str().unwrap()), false);
    }
}

#[test]
fn argon2id_is_the_default_with_its_parameters() {
    let password_hash = hash(json!({"password": "p"}));
    assert!(password_hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{password_hash}");
    assert_ne!(password_hash, hash(json!({"password": "p"})), "every hash has a salt of its own");
    assert_eq!((verify("p", &password_hash), verify("P", &password_hash)), (json!(true), json!(false)));
    let params = json!({"memory_kib": 8192, "iterations": 3, "parallelism": 2});
    let password_hash = hash(json!({"password": "p", "params": params}));
    assert!(password_hash.starts_with("$argon2id$v=19$m=8192,t=3,p=2$"), "{password_hash}");
    assert_eq!(verify("p", &password_hash), true);
}

#[test]
fn bcrypt_has_its_cost() {
    let password_hash = hash(json!({"password": "zoë", "algorithm": "bcrypt", "params": {"cost": 10}}));
    assert!(password_hash.starts_with("$2b$10$"), "{password_hash}");
    assert_eq!((verify("zoë", &password_hash), verify("zoe", &password_hash)), (json!(true), json!(false)));
}

#[test]
fn bcrypt_refuses_what_it_would_ignore() {
    let input = json!({"op": "password_hash", "algorithm": "bcrypt", "params": {"cost": 10}, "password": {"var": "data.p"}});
    let longest = "x".repeat(72);
    assert!(call("crypto", input.clone(), json!({"p": longest})).is_ok());
    let expected = invalid("password: bcrypt reads at most 72 bytes");
    assert_eq!(error("crypto", input.clone(), json!({"p": format!("{longest}x")})), expected);
    let expected = invalid("password: bcrypt cannot hold the character U+0000");
    assert_eq!(error("crypto", input, json!({"p": "a\0a"})), expected);
}

#[test]
fn unreadable_stored_hash_is_an_error() {
    let input = json!({"op": "password_verify", "password": "p", "hash": {"var": "data.h"}});
    for stored in [
        "",
        "p",
        "$1$salt$hash",
        "$argon2",
        "$argon2id$v=19$m=19456,t=2,p=1$SOWwt1W8IgjZZVAfuqQW6A",
        "$argon2id$v=19$m=19456,t=2,p=1",
        "$argon2id$v=19$m=x,t=2,p=1$SOWwt1W8IgjZZVAfuqQW6A$ML6LKk5LW7OqbDjHwGC7ZjYu/vw4tJqVZkp04xrJkIY",
        "$argon2xx$v=19$m=8,t=1,p=1$SOWwt1W8IgjZZVAfuqQW6A$ML6LKk5LW7OqbDjHwGC7ZjYu/vw4tJqVZkp04xrJkIY",
        "$argon2id$v=19$m=1,t=1,p=1$SOWwt1W8IgjZZVAfuqQW6A$ML6LKk5LW7OqbDjHwGC7ZjYu/vw4tJqVZkp04xrJkIY",
        "$2b$",
        "$2b$10$short",
        "$2b$99$......................21jzCB1r6pN6rp5O2Ev0ejjTAboskKm",
        "$2b$03$......................21jzCB1r6pN6rp5O2Ev0ejjTAboskKm",
        "$2z$10$......................21jzCB1r6pN6rp5O2Ev0ejjTAboskKm",
        "$2b$10$......................21jzCB1r6pN6rp5O2Ev0ejjTAboské",
    ] {
        let expected = invalid("hash: this is no password hash that can be read");
        assert_eq!(error("crypto", input.clone(), json!({"h": stored})), expected, "{stored}");
    }
}

#[test]
fn costly_stored_hash_is_refused() {
    let input = json!({"op": "password_verify", "password": "p", "hash": {"var": "data.h"}});
    let argon2 = |params: &str| {
        format!("$argon2id$v=19${params}$SOWwt1W8IgjZZVAfuqQW6A$ML6LKk5LW7OqbDjHwGC7ZjYu/vw4tJqVZkp04xrJkIY")
    };
    for stored in [
        argon2("m=4194304,t=1,p=1"),
        argon2("m=8,t=1000000,p=1"),
        argon2("m=8192,t=1,p=64"),
        "$2b$31$......................21jzCB1r6pN6rp5O2Ev0ejjTAboskKm".to_owned(),
    ] {
        let expected = invalid("hash: its cost is above what is spent on one");
        assert_eq!(error("crypto", input.clone(), json!({"h": stored})), expected, "{stored}");
    }
}

#[test]
fn password_hash_does_not_hold_up_its_thread() {
    let engine = engine();
    let slow =
        json!({"op": "password_hash", "password": "p", "params": {"memory_kib": 65536, "iterations": 4}});
    let slow = compile(&engine, "crypto", &slow).unwrap();
    let quick = compile(&engine, "crypto", &json!({"op": "hash", "data": "d"})).unwrap();
    let message = || Message::new(json!(null), Map::new());
    block_on(async {
        let slow = Box::pin(engine.run(&slow, message(), RunOptions::default()));
        let quick = Box::pin(engine.run(&quick, message(), RunOptions::default()));
        // The slow task is polled first.
        let Either::Right((quick, slow)) = select(slow, quick).await else {
            panic!("the hash was waited for")
        };
        assert!(quick.failure.is_none());
        let slow = slow.await;
        assert!(slow.message.data.as_str().unwrap().starts_with("$argon2id$"));
    });
}

#[test]
fn password_hash_ends_at_the_run_deadline() {
    let engine = engine();
    let slow =
        json!({"op": "password_hash", "password": "p", "params": {"memory_kib": 65536, "iterations": 4}});
    let slow = compile(&engine, "crypto", &slow).unwrap();
    let options = RunOptions { deadline: Some(Duration::from_millis(5)), ..RunOptions::default() };
    let outcome = block_on(engine.run(&slow, Message::new(json!(null), Map::new()), options));
    assert_eq!(outcome.failure.unwrap().error.code, ErrorCode::Timeout);
    assert_eq!(outcome.message.data, json!({}));
}

/// Hashes a password in a run with this use of a recording.
fn hash_in(mode: RecordingMode, input: &Value) -> RunOutcome {
    let engine = engine();
    let flow = compile(&engine, "crypto", input).unwrap();
    let options = RunOptions { recording: Some(mode), ..RunOptions::default() };
    block_on(engine.run(&flow, Message::new(json!(null), Map::new()), options))
}

#[test]
fn run_over_recording_gets_its_salt() {
    let argon2id = json!({"memory_kib": 8192, "iterations": 1});
    for (algorithm, params) in [("argon2id", argon2id), ("bcrypt", json!({"cost": 10}))] {
        let input = json!({"op": "password_hash", "algorithm": algorithm, "params": params, "password": "p"});
        let options = RecordingOptions { max_bytes: 1 << 20, ..RecordingOptions::default() };
        let outcome = hash_in(RecordingMode::Record(options), &input);
        let Some(RecordingResult::Recorded(recording)) = outcome.recorded else {
            panic!("{:?}", outcome.recorded)
        };
        let drawn: Vec<_> = recording.drawn.iter().map(|drawn| drawn.kind.as_str()).collect();
        assert_eq!(drawn, ["password_hash salt"], "{algorithm}");
        let replayed = hash_in(RecordingMode::Replay(Arc::from(recording)), &input);
        assert_eq!(replayed.message.data, outcome.message.data, "{algorithm}");
        let Some(RecordingResult::Replayed(report)) = replayed.recorded else {
            panic!("{:?}", replayed.recorded)
        };
        assert_eq!(report.fresh_values, 0, "{algorithm}");
    }
}
