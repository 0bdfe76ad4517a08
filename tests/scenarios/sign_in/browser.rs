//! A browser that fills in the pages of the provider.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use svc_outbound::Url;
use svc_testkit::http::{HttpClient, HttpResponse};

/// More pages than a sign-in has.
const PAGES: usize = 12;

/// A browser with the cookies of the provider.
pub(super) struct Browser {
    provider: SocketAddr,
    tls: Arc<ClientConfig>,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    pub(super) fn new(provider: SocketAddr, tls: &Arc<ClientConfig>) -> Self {
        Self { provider, tls: Arc::clone(tls), cookies: BTreeMap::new() }
    }

    /// Goes from the page of the provider to the address to which it sends the browser back. The person enters the name
    /// `ada`, and consents or not.
    pub(super) fn sign_in(&mut self, page: &str, consents: bool) -> Url {
        let mut url = Url::parse(page).unwrap();
        for _ in 0..PAGES {
            if url.host_str() == Some("shop.example") {
                return url;
            }
            let mut answer = self.send("GET", &url, "");
            if answer.status == 200 {
                answer = self.fill_in(&url, &answer.text(), consents);
            }
            let next = answer.header("location").unwrap_or_else(|| panic!("{url}: {}", answer.text()));
            url = url.join(next).unwrap();
        }
        panic!("the provider leads nowhere: {url}");
    }

    /// Sends the form of a page, or leaves it by its cancel link.
    fn fill_in(&mut self, url: &Url, page: &str, consents: bool) -> HttpResponse {
        let prompt = quoted(page, "name=\"prompt\" value=\"");
        let action = url.join(quoted(page, "action=\"")).unwrap();
        if prompt == "consent" && !consents {
            let cancel = Url::parse(&format!("{action}/abort")).unwrap();
            return self.send("GET", &cancel, "");
        }
        self.send("POST", &action, &format!("prompt={prompt}&login=ada&password=any"))
    }

    fn send(&mut self, method: &str, url: &Url, form: &str) -> HttpResponse {
        assert_eq!(url.port(), Some(self.provider.port()), "{url}");
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = cookies.join("; ");
        let mut headers = vec![("cookie", cookies.as_str())];
        if method == "POST" {
            headers.push(("content-type", "application/x-www-form-urlencoded"));
        }
        let path =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let mut client = HttpClient::new(self.provider).over_tls(Arc::clone(&self.tls));
        let answer = client.send(method, &path, &headers, form.as_bytes()).unwrap();
        for (_, line) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, value) = line.split(';').next().and_then(|pair| pair.split_once('=')).unwrap();
            match value {
                "" => drop(self.cookies.remove(name)),
                value => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        answer
    }
}

/// Returns the text between a beginning and the next quotation mark.
fn quoted<'p>(page: &'p str, beginning: &str) -> &'p str {
    let (_, rest) = page.split_once(beginning).unwrap_or_else(|| panic!("no {beginning} in {page}"));
    rest.split('"').next().unwrap_or_default()
}
