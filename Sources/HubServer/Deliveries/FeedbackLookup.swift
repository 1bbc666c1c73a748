import HubProtocol
import HubRouting
import HubStore
import Signals

/// The files of a hub's feedback container: the handles that push services have reported dead, day by day.
///
/// A report is kept as long as the message that caused it.
struct FeedbackLookup {
    /// Maximum number of rows of one file, which then has about 5 MB; a day with more rows has several files.
    static let rowsOfFile = 10_000
    /// Maximum number of files in a list, which shows the newest.
    static let maximumFiles = 20
    /// Maximum number of files of one day: a hub keeps no more failures.
    private static let maximumOfDay = Transaction.maximumFailuresOfHub / rowsOfFile + 1

    let hub: Hub

    /// The files, oldest first.
    func files() async throws -> [ContainerListing.File] {
        try await hub.lookups.pass {
            var files: [ContainerListing.File] = []
            for day in try await hub.store.deadHandleDays(hub: hub.record.id, limit: Self.maximumFiles) {
                let last = (day.count - 1) / Self.rowsOfFile + 1
                for number in (1...last).reversed() where files.count < Self.maximumFiles {
                    let name = FeedbackFileName(day: day.day, number: number)
                    guard let content = try await content(of: name) else { continue }
                    files.append(
                        .init(name: name.description, length: content.text.utf8.count, modifiedAt: content.modifiedAt)
                    )
                }
            }
            return files.reversed()
        }
    }

    /// The content of a file; `nil` if it does not exist.
    func file(_ name: FeedbackFileName) async throws -> String? {
        try await hub.lookups.pass { try await content(of: name)?.text }
    }

    private func content(of name: FeedbackFileName) async throws -> (text: String, modifiedAt: Timestamp)? {
        guard name.number <= Self.maximumOfDay else { return nil }
        let reports = try await hub.store.deadHandles(
            hub: hub.record.id,
            from: name.start,
            to: name.end,
            offset: (name.number - 1) * Self.rowsOfFile,
            limit: Self.rowsOfFile
        )
        guard let last = reports.last else { return nil }
        let lines = reports.map { PnsFeedback($0.target, on: $0.platform, of: $0.message).line }
        return (lines.joined(), last.target.at)
    }
}
