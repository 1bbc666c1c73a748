/// A host that asked for quiet; all feeds there wait (feeds.md §10).
package struct HostWait: Sendable, Equatable {
    package var host: String
    package var due: DueTime
}
