import GRDB
extension BackendStore {
    static func createAccounts(_ db: Database) throws {}
}
