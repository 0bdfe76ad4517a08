//! The table of routes: methods and paths with their handlers, in the order in which they are tried.
//!
//! Routes are mounted from the table alone, so that a test can compare it with the endpoints that the API describes.

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Resource, Responder, Route, guard, web};

/// A method and a path pattern, with the handler of their requests.
struct TableRow {
    method: Method,
    pattern: String,
    route: Route,
}

/// The routes below one prefix.
#[derive(Default)]
pub(crate) struct Router {
    rows: Vec<TableRow>,
}

impl Router {
    /// Adds a handler for `GET`, which answers `HEAD` as well.
    pub(crate) fn get<F, Args>(&mut self, pattern: &str, handler: F)
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let route = web::route().guard(guard::Any(guard::Get()).or(guard::Head()));
        self.rows.push(TableRow {
            method: Method::GET,
            pattern: pattern.to_owned(),
            route: route.to(handler),
        });
    }

    /// Adds a handler for `POST`.
    pub(crate) fn post<F, Args>(&mut self, pattern: &str, handler: F)
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.add(Method::POST, pattern, handler);
    }

    /// Adds a handler for a method.
    pub(crate) fn add<F, Args>(&mut self, method: Method, pattern: &str, handler: F)
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.rows.push(TableRow { method, pattern: pattern.to_owned(), route: web::to(handler) });
    }

    /// Mounts all routes.
    pub(crate) fn mount(self, cfg: &mut web::ServiceConfig) {
        for (_, resource) in self.into_resources() {
            cfg.service(resource);
        }
    }

    /// Returns a resource for each pattern, in the order of its first route.
    pub(crate) fn into_resources(self) -> Vec<(String, Resource)> {
        let mut resources: Vec<(String, Resource)> = Vec::new();
        for TableRow { method, pattern, route } in self.rows {
            let route = match method {
                Method::GET => route.guard(guard::Any(guard::Get()).or(guard::Head())),
                method => route.method(method),
            };
            let place = match resources.iter().position(|(known, _)| *known == pattern) {
                Some(place) => place,
                None => {
                    resources.push((pattern.clone(), web::resource(pattern)));
                    resources.len() - 1
                }
            };
            let (pattern, resource) = resources.swap_remove(place);
            resources.push((pattern, resource.route(route)));
            let last = resources.len() - 1;
            resources.swap(place, last);
        }
        resources
    }

    /// Lists the methods and the paths, as the API describes them.
    #[cfg(test)]
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = (&str, String)> {
        self.rows.iter().map(|row| (row.method.as_str(), described_path(&row.pattern)))
    }
}

/// Returns a path pattern as the API describes it: without the regular expression of a part, which concerns the router
/// only.
pub(crate) fn described_path(pattern: &str) -> String {
    pattern.replace(":.+}", "}")
}
