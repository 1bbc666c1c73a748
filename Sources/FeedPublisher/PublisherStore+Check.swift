internal import GRDB

extension PublisherStore {
    /// Looks at a publisher's file without changing it.
    ///
    /// - Parameter name: A path, or a `file:` URI that SQLite opens.
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at name: String) -> String? {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(1)
            let file = try DatabaseQueue(path: name, configuration: configuration)
            let isNewer = try file.read(migrator.hasBeenSuperseded)
            try file.close()
            return isNewer ? "it was written by a newer newswire" : nil
        } catch let error as DatabaseError {
            return PublisherStoreError(error).reason
        } catch {
            return "\(error)"
        }
    }
}
