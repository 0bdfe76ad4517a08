//! A page that shows an OpenAPI document. It has no script, no style and no picture, so that every content policy
//! admits it.

use std::fmt::Write as _;

use serde_json::Value;
use svc_model::escape_markup;

/// Makes the page of a document of channels. It links to the document next to it, `openapi.json`.
pub fn documents_page(document: &Value) -> String {
    let title = escape_markup(document["info"]["title"].as_str().unwrap_or_default());
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
         <body><h1>{title}</h1>\n<p><a href=\"openapi.json\">OpenAPI</a></p>\n"
    );
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            add_operation(&mut page, &method.to_uppercase(), path, operation);
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        // Writing to a text does not fail.
        let _ =
            writeln!(page, "<h2 id=\"{0}\">{0}</h2>\n<pre>{1}</pre>", escape_markup(name), pretty(schema));
    }
    page.push_str("</body></html>\n");
    page
}

fn add_operation(page: &mut String, method: &str, path: &str, operation: &Value) {
    let text = |key: &str| escape_markup(operation[key].as_str().unwrap_or_default());
    let _ = writeln!(
        page,
        "<h2>{} {}</h2>\n<p>{}</p>",
        escape_markup(method),
        escape_markup(path),
        text("summary")
    );
    if operation["description"].is_string() {
        let _ = writeln!(page, "<p>{}</p>", text("description"));
    }
    for part in ["parameters", "security", "requestBody", "responses"] {
        let value = &operation[part];
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            let _ = writeln!(page, "<h3>{part}</h3>\n<pre>{}</pre>", pretty(value));
        }
    }
}

fn pretty(value: &Value) -> String {
    escape_markup(&format!("{value:#}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_of_authors_is_shown_as_text() {
        let operation =
            json!({"summary": "<script>alert(1)</script>", "description": "a & b", "responses": {}});
        let document = json!({"info": {"title": "\"T\""}, "paths": {"/a/{<b>}": {"post": operation}},
            "components": {"schemas": {"x": {"const": "</pre>"}}}});
        let page = documents_page(&document);
        for part in ["POST /a/{&lt;b&gt;}", "&lt;script&gt;", "a &amp; b", "&lt;/pre&gt;", "&quot;T&quot;"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script") && page.matches("</pre>").count() == 2, "{page}");
    }
}
