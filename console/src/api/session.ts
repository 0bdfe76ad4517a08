// Who the person is to the service.

import { acceptIdentity, hasKey, signOut } from "../core/credential.ts";
import { texts } from "../texts.ts";
import { api, read } from "./client.ts";
import { asProblem } from "./problem.ts";

/** Asks the service for the caller. A service that needs no key knows an anonymous one. */
export async function checkCaller(refused: string): Promise<void> {
  const hadKey = hasKey();
  try {
    const { data } = await read(api.GET("/api/v1/admin/whoami"));
    acceptIdentity(data);
  } catch (thrown) {
    const problem = asProblem(thrown);
    const isRefused = problem.status === 401 || problem.status === 403;
    if (isRefused) signOut(hadKey ? refused : null);
    else signOut(problem.status === 0 ? texts.signIn.noService : problem.message);
  }
}
