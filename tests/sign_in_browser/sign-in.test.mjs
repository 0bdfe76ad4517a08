// People who sign in with a browser: they consent or refuse, at either of two clients, and others tamper with them. The
// two nodes take turns, so that no sign-in ends at the node that began it.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startBrowser } from "../console/kit/browser.mjs";
import { Server } from "../console/kit/server.mjs";
import { openSite, startProvider } from "./site.mjs";

const SHOP = "https://shop.example";
const NAMES = ["basic", "body"];
let browser, nodes, provider, site;

/** Serves the sign-in at a node, whose workflow answers what it sees. */
async function serve(node) {
  const see = (what) => ({ path: `data.${what}`, logic: { var: `metadata.${what}` } });
  const mappings = [see("identity"), see("oauth")];
  await node.ask("POST", "/api/v1/admin/workflows", {
    workflow_id: "login", name: "login",
    tasks: [{ id: "see", name: "See", function: { name: "map", input: { mappings } } }],
  });
  await node.ask("PATCH", "/api/v1/admin/workflows/login/status", { status: "active" });
  const client = (name) => ({ issuer: provider.issuer, client_id: name, client_secret: "s3cret", client_auth: name });
  await node.ask("POST", "/api/v1/admin/channels", {
    channel_id: "login", name: "login", channel_type: "sync", protocol: "rest", methods: ["GET"],
    route_pattern: "/login/{provider}", workflow_id: "login",
    config: { oauth2_login: {
      redirect_uri: `${SHOP}/{provider}/callback`, callback_path: "/{provider}/callback",
      state_secret: "a-state-secret-of-thirty-two-bytes", return_to: { allow_list: [`${SHOP}/`] },
      providers: Object.fromEntries(NAMES.map((name) => [name, client(name)])),
    } },
  });
  await node.ask("PATCH", "/api/v1/admin/channels/login/status", { status: "active" });
}

before(async () => {
  provider = await startProvider();
  const toml = ["[oauth2_login]", "allow_private_token_urls = true", "[jwt]", "allow_private_jwks_urls = true"];
  nodes = await Promise.all([1, 2].map(() => Server.start({ toml })));
  await Promise.all(nodes.map(serve));
  site = await openSite(nodes);
  browser = await startBrowser([`--host-resolver-rules=MAP shop.example:443 127.0.0.1:${site.port}`]);
});

after(async () => {
  await browser?.close();
  site?.stop();
  provider?.stop();
  await Promise.all((nodes ?? []).map((node) => node.remove()));
});

beforeEach(() => Object.assign(site, { served: [], withheld: null }));

/** Opens a browser of somebody, with no cookies. */
async function openPerson() {
  // Authority and names are of this test.
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(30_000);
  return { context, page: await context.newPage() };
}

/** Fills in the pages of the provider, up to the consent. */
async function enterName({ page }, address) {
  await page.goto(address);
  await page.locator("input[name=login]").fill("ada");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
}

/** Waits for the way back to the service that something begins. Returns the status, and what the workflow saw. */
async function comeBack({ page }, begin) {
  const back = page.waitForResponse((answer) => answer.url().startsWith(SHOP) && answer.url().includes("/callback"));
  const [answer] = await Promise.all([back, begin()]);
  return read(answer);
}

/** Returns the status of an answer, and what the workflow saw. */
async function read(answer) {
  const { data, error } = await answer.json();
  return { status: answer.status(), data, error };
}

const consent = (person) => () => person.page.locator("button[type=submit]").click();
const cookieOf = async ({ context }) => (await context.cookies(SHOP)).find(({ name }) => name === "svc_sign_in");

function assertRefused({ status, error }) {
  assert.deepEqual([status, error.code, error.message], [401, "UNAUTHORIZED", "Sign-in failed; begin again"]);
}

for (const name of NAMES) {
  test(`person signs in at ${name}, over both nodes`, async () => {
    const person = await openPerson();
    await enterName(person, `${SHOP}/login/${name}?return_to=${SHOP}/cart`);
    assert.equal((await cookieOf(person)).httpOnly, true);
    const { status, data } = await comeBack(person, consent(person));
    assert.equal(status, 200);
    assert.deepEqual(data.identity, { provider: name, kind: "oidc", subject: "ada" });
    assert.equal(data.oauth.return_to, `${SHOP}/cart`);
    assert.equal(await cookieOf(person), undefined, "the cookie is used up");
    assert.deepEqual(site.served, [{ node: 0, path: `/login/${name}` }, { node: 1, path: `/${name}/callback` }]);
    // The page is loaded again: the code is used up.
    assertRefused(await read(await person.page.reload()));
    await person.context.close();
  });
}

test("refused consent reaches the workflow", async () => {
  const person = await openPerson();
  await enterName(person, `${SHOP}/login/basic`);
  const { status, data } = await comeBack(person, () => person.page.locator("a[href$=abort]").click());
  assert.equal(status, 200);
  assert.deepEqual([data.oauth.error, data.identity, data.oauth.grant], ["access_denied", undefined, undefined]);
  assert.equal(await cookieOf(person), undefined);
  await person.context.close();
});

test("tampered way back runs nothing", async () => {
  const person = await openPerson();
  site.withheld = [];
  await enterName(person, `${SHOP}/login/basic`);
  await consent(person)();
  await person.page.getByText("withheld").waitFor();
  const [back] = site.withheld;
  site.withheld = null;
  const cookie = await cookieOf(person);
  const visit = async (visitor, address) => read(await visitor.page.goto(address));
  // A sign-in that a victim is sent to, once with no sign-in of its own, once in the middle of one.
  const victim = await openPerson();
  assertRefused(await visit(victim, back));
  await enterName(victim, `${SHOP}/login/basic`);
  assertRefused(await visit(victim, back));
  for (const change of [
    (url) => url.searchParams.set("state", `${url.searchParams.get("state")}x`),
    (url) => url.searchParams.delete("state"),
    (url) => url.searchParams.set("iss", "https://evil.example"),
    (url) => (url.pathname = "/body/callback"),
  ]) {
    const tampered = new URL(back);
    change(tampered);
    assertRefused(await visit(person, tampered.href));
    // Each refusal removes the cookie.
    assert.equal(await cookieOf(person), undefined);
    await person.context.addCookies([cookie]);
  }
  const { status, data } = await visit(person, back);
  assert.deepEqual([status, data.identity.subject], [200, "ada"], "the code was not used up");
  await Promise.all([person, victim].map(({ context }) => context.close()));
});
