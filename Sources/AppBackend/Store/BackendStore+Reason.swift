import GRDB
import HostSystem
import SQLiteFiles

extension BackendStore {
    /// An error in one line, for a log: of the database never a statement or its arguments, which may hold a secret.
    static func reason(_ error: any Error) -> String {
        (error as? DatabaseError)?.reason ?? TerminalText.safe("\(error)")
    }
}
