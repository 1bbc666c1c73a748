import Feeds
import Foundation
import HubServer
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The reason why the sample feeds cannot be read.
package struct SampleFeedsError: Error, Sendable, CustomStringConvertible {
    package let description: String
}

/// The sample documents in `feeds/samples`: for each category, a baseline and a later state of the same feed.
package final class SampleFeeds: Sendable {
    struct Sample: Sendable {
        /// The category as a tag: `World` for `world.rss`.
        let category: String
        let name: String
        let baseline: [UInt8]
        let later: [UInt8]
    }

    let samples: [Sample]
    /// True if the later states are served.
    private let hasMovedOn = Mutex(false)

    /// `feeds/samples` in the current directory if it exists or none is installed, else the installed samples.
    package static var standardDirectory: String {
        let here = "feeds/samples"
        let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let installed = program.deletingLastPathComponent().deletingLastPathComponent().path + "/share/newswire/samples"
        let files = FileManager.default
        return !files.fileExists(atPath: here) && files.fileExists(atPath: installed) ? installed : here
    }

    /// Reads the pairs `X-baseline.EXT` and `X.EXT`.
    package init(directory: String) throws {
        let files: [String]
        do {
            files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        } catch {
            let reason = error.localizedDescription
            throw SampleFeedsError(description: "cannot read the sample feeds in '\(directory)': \(reason)")
        }
        samples = try files.filter { $0.contains("-baseline.") }.map { baseline in
            let name = baseline.replacing("-baseline", with: "")
            let stem = String(name.prefix { $0 != "." })
            return Sample(
                category: stem.prefix(1).uppercased() + stem.dropFirst(),
                name: name,
                baseline: Array(try Data(contentsOf: URL(filePath: "\(directory)/\(baseline)"))),
                later: Array(try Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
            )
        }
        guard !samples.isEmpty else {
            throw SampleFeedsError(description: "there are no pairs 'X-baseline.EXT' and 'X.EXT' in '\(directory)'")
        }
    }

    func moveOn() {
        hasMovedOn.withLock { $0 = true }
    }

    /// Returns the titles that are in the later state of a category's feed and not in its baseline.
    func news(in category: String) throws -> [String] {
        try samples.filter { $0.category == category }.flatMap { sample in
            let known = try Set(titles(sample.baseline))
            return try titles(sample.later).filter { !known.contains($0) }
        }
    }

    private func titles(_ document: [UInt8]) throws -> [String] {
        try FeedReader.read(document, url: "http://127.0.0.1/", contentType: nil).entries.compactMap(\.title)
    }

    /// Serves the documents on a free port of this machine until the task is cancelled.
    func serve(onRunning: @escaping @Sendable (_ port: Int) async -> Void) async throws {
        let router = Router()
        router.get("/:name") { _, context in
            guard let sample = self.samples.first(where: { $0.name == context.parameters.get("name") }) else {
                throw HTTPError(.notFound)
            }
            let document = self.hasMovedOn.withLock { $0 } ? sample.later : sample.baseline
            return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(bytes: document)))
        }
        var logger = Logger(label: "newswire.samples") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { await onRunning($0.localAddress?.port ?? 0) },
            logger: logger
        )
        let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
        try await group.runStoppingWhenCancelled()
    }
}
