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
        abstract: "Show what newswire reads from a feed, and the feed's errors.",
        discussion: """
            Reads a file, or fetches an address once; stores nothing and announces nothing. Reads RSS 0.90 to 2.0, \
            Atom 0.3 and 1.0, JSON Feed 1.0 and 1.1, CAP 1.1 and 1.2 and Google News sitemaps, and lists the feeds of \
            a web page. Exits with 1 if there is no feed.

            --batch reads many files and prints one line of JSON per file. Each line of LIST is either a path, \
            optionally followed by the file's source address and its Content-Type, separated by tabs; or a JSON object \
            with the members 'file', 'url' and 'content_type'. Paths are relative to the working directory, else to \
            the folder of LIST; '-' is standard input.

            EXAMPLES
              newswire feeds check https://example.org/world.rss
              newswire feeds check --json --url https://example.org/world.rss world.rss
              newswire feeds check --json --batch feeds.txt > feeds.jsonl
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<FeedContactFlags>

    @Argument(help: ArgumentHelp("The feed.", valueName: "file|url"), completion: .file())
    var document: String?

    @Option(help: ArgumentHelp("The file's source address, for relative links.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("The file's Content-Type, for its charset.", valueName: "type"))
    var contentType: String?

    @Option(
        help: ArgumentHelp("The file that lists the files to read, one per line.", valueName: "list"),
        completion: .file()
    )
    var batch: String?

    @Flag(help: "Allow an address of this machine or its network.")
    var local = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (document == nil) != (batch == nil) else {
            throw ValidationError("pass one feed, or a list with --batch")
        }
        guard batch == nil || url == nil && contentType == nil else {
            throw ValidationError("with --batch, put addresses and content types into the list")
        }
    }

    func run() async throws {
        if let batch { return try readAll(batch) }
        guard let document else { return }
        let source = FeedAddress.isWeb(document) ? try await fetched(document) : try file(document)
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
        guard case .problem(let reason, let discovered) = check else { return }
        let hint = discovered?.isEmpty == false ? "check one of the feeds that the page names" : nil
        if !json { for address in discovered ?? [] { Console.print(TerminalText.safe(address)) } }
        throw Failure(.failed, TerminalText.safe("no feed in '\(document)': \(reason)"), hint: hint)
    }

    private typealias Source = (body: [UInt8], url: String, contentLocation: String?, contentType: String?)

    private func file(_ path: String) throws -> Source {
        do {
            return (try FeedBatch.contents(of: path, limit: FeedReader.maximumBytes + 1), url ?? "", nil, contentType)
        } catch {
            throw Failure(.failed, "cannot read '\(path)': \(FeedBatch.reason(error))")
        }
    }

    /// Fetches an address as the publisher would, but without its stored cache headers.
    private func fetched(_ address: String) async throws -> Source {
        let contact = try configuration.load().value(PublisherSettings.contact)
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
