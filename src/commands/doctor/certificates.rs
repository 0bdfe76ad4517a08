//! The certificates that the settings name: files that cannot be used, and certificates that expire.

use std::fs;

use openssl::asn1::Asn1Time;
use openssl::error::ErrorStack;
use openssl::x509::X509;
use slog::{Discard, Logger, o};
use svc_outbound::describe_cause;
use svc_project::Severity;

use super::report::DoctorReport;
use crate::config::{Config, KafkaSection};
use crate::listeners::certificates::Certificates;

const CHECK: &str = "certificates";
/// Days before the end of a certificate from which on it should have been renewed.
const NOTICE_DAYS: i32 = 21;
/// The remedy for a certificate that ends.
const RENEW: &str =
    "renew it, and put the new one in the place of the file; the service reads it within seconds";

/// The time for which a certificate is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CertificateTerm {
    /// Whole days until its end; negative after it.
    days_left: i32,
    is_expired: bool,
    is_begun: bool,
    /// Its end, as certificates write it.
    end: String,
}

/// Checks the certificate of the listeners, and the files with certificates that connections need.
pub(super) fn check_certificates(config: &Config, report: &mut DoctorReport) {
    let tls = &config.server.tls;
    if tls.enabled {
        if let Err(problem) = Certificates::load(tls, Logger::root(Discard, o!())) {
            let (setting, problem) = problem.split_once(": ").unwrap_or(("server.tls", problem.as_str()));
            report.add_error(CHECK, setting, problem, "name a PEM file with a certificate and its key");
        }
        check_file(report, "server.tls.cert_path", &tls.cert_path);
        if !tls.client_ca_path.is_empty() {
            check_file(report, "server.tls.client_ca_path", &tls.client_ca_path);
        }
    }
    if config.kafka.enabled {
        for (setting, path) in kafka_files(&config.kafka) {
            check_file(report, setting, path);
        }
    }
}

/// Returns the files with certificates of the connections to the brokers.
fn kafka_files(kafka: &KafkaSection) -> Vec<(&'static str, &str)> {
    let authorities = kafka.auth.ssl_ca_location.as_deref().map(|path| ("kafka.auth.ssl_ca_location", path));
    let own = kafka.extra_config.0.get("ssl.certificate.location");
    let own = own.map(|path| ("kafka.extra_config", path.as_str()));
    authorities.into_iter().chain(own).collect()
}

fn check_file(report: &mut DoctorReport, setting: &str, path: &str) {
    let terms = fs::read(path)
        .map_err(|error| describe_cause(&error))
        .and_then(|pem| read_terms(&pem).map_err(|_| "it holds no certificate as PEM".to_owned()));
    let terms = match terms {
        Ok(terms) if !terms.is_empty() => terms,
        Ok(_) => {
            return report.add_error(CHECK, setting, format!("{path}: no certificate"), "name a PEM file");
        }
        Err(problem) => {
            let remedy = "name a PEM file that the service can read";
            return report.add_error(CHECK, setting, format!("{path}: {problem}"), remedy);
        }
    };
    for (index, term) in terms.iter().enumerate() {
        let (severity, state) = judge_term(term);
        let message = format!("{path}, certificate {}: {state}", index + 1);
        let remedy = (severity != Severity::Note).then_some(RENEW);
        report.add(severity, CHECK, setting, message, remedy);
    }
}

/// Reads the terms of the certificates of a PEM file, in their order.
fn read_terms(pem: &[u8]) -> Result<Vec<CertificateTerm>, ErrorStack> {
    let now = Asn1Time::days_from_now(0)?;
    let read = |certificate: X509| -> Result<CertificateTerm, ErrorStack> {
        let left = now.diff(certificate.not_after())?;
        let begun = certificate.not_before().diff(&now)?;
        Ok(CertificateTerm {
            days_left: left.days,
            is_expired: left.days < 0 || left.secs < 0,
            is_begun: begun.days >= 0 && begun.secs >= 0,
            end: certificate.not_after().to_string(),
        })
    };
    X509::stack_from_pem(pem)?.into_iter().map(read).collect()
}

fn judge_term(term: &CertificateTerm) -> (Severity, String) {
    let CertificateTerm { days_left, is_expired, is_begun, end } = term;
    if *is_expired {
        (Severity::Error, format!("it expired at {end}"))
    } else if !is_begun {
        (Severity::Error, "it is not valid yet; its time is in the future".to_owned())
    } else if *days_left < NOTICE_DAYS {
        (Severity::Warning, format!("it expires in {days_left} day(s), at {end}"))
    } else {
        (Severity::Note, format!("it is valid for {days_left} more days"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use svc_testkit::tls::{issue_certificate_for_time, issue_expired_certificate};

    use super::*;

    fn severity(pem: &str) -> Severity {
        let terms = read_terms(pem.as_bytes()).unwrap();
        assert_eq!(terms.len(), 1);
        judge_term(&terms[0]).0
    }

    #[test]
    fn term_of_a_certificate_decides_its_weight() {
        let issue = |days: u64| issue_certificate_for_time(Duration::from_hours(24 * days)).unwrap();
        assert_eq!(severity(&issue_expired_certificate().unwrap().certificate), Severity::Error);
        assert_eq!(severity(&issue(20).certificate), Severity::Warning);
        assert_eq!(severity(&issue(60).certificate), Severity::Note);
    }

    #[test]
    fn file_without_certificate_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("empty.pem");
        fs::write(&file, "nothing").unwrap();
        let mut report = DoctorReport::default();
        check_file(&mut report, "server.tls.cert_path", file.to_str().unwrap());
        check_file(&mut report, "server.tls.cert_path", "/no/such/file.pem");
        assert_eq!(report.count(Severity::Error), 2, "{:?}", report.findings());
    }
}
