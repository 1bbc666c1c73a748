import ArgumentParser
import FeedLists
import FeedPublisher
import Feeds
import Foundation
import HostSystem
import OutboundHTTP
import Settings

struct FeedsCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Show the content of a feed as it is read, and its faults.",
        discussion: """
            Reads a file, or fetches an address once; stores nothing and announces nothing. Reads RSS 0.90 to 2.0, Atom 0.3 \
            and 1.0, JSON Feed 1.0 and 1.1, CAP 1.1 and 1.2 and Google News sitemaps, and names the feeds of a web page. \
            Ends with 1 if there is no feed.

            --batch reads many files and prints a line of JSON for each. A line of LIST is a path, alone or followed by the \
            address that the file came from and its Content-Type, with tabs between; or an object with the members 'file', \
            'url' and 'content_type'. Paths are relative to the working directory, else to the folder of LIST; '-' is \
            standard input.

            EXAMPLES
              newswire feeds check https://example.org/world.rss
              newswire feeds check --json --url https://example.org/world.rss world.rss
              newswire feeds check --json --batch feeds.txt > feeds.jsonl
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @Argument(help: ArgumentHelp("The feed.", valueName: "file|url"))
    var document: String?

    @Option(help: ArgumentHelp("The address that the file came from, for relative links.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("The Content-Type that the file came with, for its charset.", valueName: "type"))
    var contentType: String?

    @Option(help: ArgumentHelp("The files to read, one a line.", valueName: "list"))
    var batch: String?

    @Option(PublisherSettings.contact)
    var contact: String?

    @Flag(help: "Allow an address of this machine or its network.")
    var local = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (document == nil) != (batch == nil) else {
            throw ValidationError("Name one feed, or a list with --batch.")
        }
        guard batch == nil || url == nil && contentType == nil else {
            throw ValidationError("With --batch, --url and --content-type belong in the list.")
        }
    }

    func run() async throws {
        if let batch { return try readAll(batch) }
        guard let document else { return }
        let source = Self.isAddress(document) ? try await fetched(document) : try file(document)
        let check = FeedCheck(
            reading: source.body,
            url: source.url,
            contentLocation: source.contentLocation,
            contentType: source.contentType
        )
        if json {
            Console.print(try JSON.line(check.report(file: nil)))
        } else if case .feed(let feed) = check {
            FeedCheckText.print(feed, of: document, now: Date())
        }
        guard case .trouble(let reason, let discovered) = check else { return }
        let hint = discovered?.isEmpty == false ? "check one of the feeds that the page names" : nil
        if !json { for address in discovered ?? [] { Console.print(TerminalText.safe(address)) } }
        throw Failure(.failed, TerminalText.safe("no feed in '\(document)': \(reason)"), hint: hint)
    }

    private typealias Source = (body: [UInt8], url: String, contentLocation: String?, contentType: String?)

    private static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("http://") || text.hasPrefix("https://")
    }

    private func file(_ path: String) throws -> Source {
        do {
            return (try FeedBatch.contents(of: path, limit: FeedReader.maximumBytes + 1), url ?? "", nil, contentType)
        } catch {
            throw Failure(.failed, "cannot read '\(path)': \(FeedBatch.reason(error))")
        }
    }

    /// Fetches an address as the publisher would, without its stored knowledge.
    private func fetched(_ address: String) async throws -> Source {
        let settings = try configuration.load()
        let contact = settings.value(PublisherSettings.contact, flag: contact)
        let request = OutboundRequest(feed: address, addresses: local ? .any : .publicOnly)
        let response = try await Program.fetch(request, contact: contact, hasLocal: !local)
        return (
            response.body, url ?? response.url,
            url == nil ? response.headers.first("Content-Location") : nil,
            contentType ?? response.headers.first("Content-Type")
        )
    }

    private func readAll(_ path: String) throws {
        let items: [FeedBatch.Item]
        do {
            items = try FeedBatch.items(ofListAt: path)
        } catch let error as FeedBatch.BadLine {
            throw Failure(.usage, "\(error)")
        } catch {
            throw Failure(.failed, "cannot read the list '\(path)': \(FeedBatch.reason(error))")
        }
        for item in items { Console.print(try JSON.line(item.check().report(file: item.name))) }
    }
}
