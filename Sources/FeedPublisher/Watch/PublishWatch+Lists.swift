internal import FeedLists
internal import HubProtocol
internal import Signals
internal import Synchronization

/// Feed lists that change while the publisher runs.
extension PublishWatch {
    /// Time between two checks of the files.
    private static let listPause: Duration = .seconds(5)

    /// Reads the feed lists now.
    package func reload() { wakeLists.signal() }

    func keepReading() async {
        while !Task.isCancelled {
            await wakeLists.wait(atMost: Self.listPause)
            if !Task.isCancelled { readChangedLists() }
        }
    }

    /// Reads the lists again if their files have changed since the last reading.
    func readChangedLists() {
        let found = FeedLists.Stamps(directory: directory)
        if state.withLock({ exchange(&$0.stamps, with: found) }) != found { readLists() }
    }

    /// Reads the lists again; if they are invalid, the previous ones stay in use, which is reported once.
    func readLists() {
        do {
            let lists = try FeedLists.load(directory: directory)
            state.withLock { $0.listProblem = nil }
            feeds.replace(by: lists)
            reporter.say(.notice, "the feed lists were read again: \(Counted.text(lists.feedCount, "feed"))")
            for wake in [wakePolls, wakeSender, subscriber?.wakeRequests] { wake?.signal() }
        } catch {
            let former = state.withLock { exchange(&$0.listProblem, with: error.description) }
            guard former != error.description else { return }
            for problem in error.problems { reporter.say(.error, problem.description) }
            reporter.say(.hint, "the previous feed lists stay in use until these are corrected")
        }
    }
}
