import GRDB
import HostSystem
import SQLiteFiles

extension BackendStore {
    /// An error in one line for the log, without SQL statements and their arguments, which may hold a secret.
    static func reason(_ error: any Error) -> String {
        (error as? DatabaseError)?.reason ?? TerminalText.safe("\(error)")
    }
}
