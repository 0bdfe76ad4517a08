// Who the person is to the service.

import { acceptIdentity, hasKey, identity, noteAbsence, signOut } from "../core/credential.ts";
import { texts } from "../texts.ts";
import { api, read } from "./client.ts";
import { asProblem } from "./problem.ts";

/** Milliseconds after which a service that did not answer is asked again. */
const AGAIN = 2000;

/** Asks the service for the caller. A service that needs no key knows an anonymous one. */
export async function checkCaller(refused: string): Promise<void> {
  const hadKey = hasKey();
  try {
    const { data } = await read(api.GET("/api/v1/admin/whoami"));
    acceptIdentity(data);
  } catch (thrown) {
    const problem = asProblem(thrown);
    if (problem.status === 401 || problem.status === 403) {
      signOut(hadKey ? refused : null);
      return;
    }
    // A service that is away or overloaded has not refused the key.
    noteAbsence(problem.status === 0 ? texts.signIn.noService : problem.message);
    setTimeout(() => identity.value === null && void checkCaller(refused), AGAIN);
  }
}
