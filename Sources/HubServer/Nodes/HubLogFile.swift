package import HubStore

/// A hub's file and the log that it follows, for the operator; no hub may be using the file.
package enum HubLogFile {
    /// Applies the entries of its log that a file lacks.
    ///
    /// - Returns: The number of the last entry.
    /// - Throws: ``OrderedLogError``, ``HubStoreError`` or a `DatabaseError`.
    package static func follow(_ database: String, _ log: any OrderedLog) async throws -> UInt64 {
        let store = try HubStore(path: database, log: log)
        do {
            try await store.join()
            try await store.follow { _ in }
        } catch {
            try? store.close()
            throw error
        }
        let position = store.head.number
        try store.close()
        return position
    }

    /// The reason why a hub cannot follow its log, or a program cannot write a file without its log; `nil` for an error
    /// of another kind.
    ///
    /// A temporary failure can clear without a change of files or settings.
    package static func problem(_ error: any Error) -> (reason: String, isTemporary: Bool)? {
        switch error {
        case let error as OrderedLogError: ("\(error)", !error.isFinal)
        case let error as NodeRefusal: ("\(error)", false)
        case HubStoreError.sharedLog, HubStoreError.awaitsLog: ("\(error)", false)
        default: nil
        }
    }
}
