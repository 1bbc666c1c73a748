import AppBackend
import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

extension PageStore {
    /// Records that a session's installation may have a user's tag from now on.
    func setUser(_ user: UserName, of session: ReaderSession) async throws {
        try await execute("UPDATE session SET user = ?, token = NULL WHERE sessionID = ?", [user.text, session.id])
    }

    /// Signs a session in; its former cookie becomes invalid.
    func setSignedIn(
        _ session: ReaderSession,
        as user: UserName,
        token: Data,
        renewed secret: SessionSecret
    ) async throws {
        try await execute(
            "UPDATE session SET user = ?1, formerUser = ?1, token = ?2, name = ?3, secretHash = ?4 WHERE sessionID = ?5",
            [user.text, token, secret.name, Data(secret.digest), session.id]
        )
    }

    func setSignedOut(_ session: ReaderSession) async throws {
        try await execute("UPDATE session SET user = NULL, token = NULL WHERE sessionID = ?", [session.id])
    }

    /// Signs a user out of another browser; its session remains, without the user.
    ///
    /// `installation` is the id, in folded form, of one of the session's installations.
    func signOut(of user: UserName, installation: String, hub: HubName) async throws {
        try await execute(
            """
            UPDATE session SET token = NULL
            WHERE hub = ? AND ? IN (lower(installation), lower(browser)) AND lower(user) = ?
            """,
            [hub.folded, installation, user.key]
        )
    }
}
