import GRDB

extension HubStore {
    /// Looks at a hub's file without changing it.
    ///
    /// - Parameter name: A path, or a `file:` URI that SQLite opens.
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at name: String) -> String? {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(1)
            let file = try DatabaseQueue(path: name, configuration: configuration)
            let isNewer = try file.read(Schema.migrator.hasBeenSuperseded)
            try file.close()
            return isNewer ? "it was written by a newer newswire" : nil
        } catch let error as DatabaseError {
            return error.message ?? "\(error.resultCode)"
        } catch {
            return "\(error)"
        }
    }
}
