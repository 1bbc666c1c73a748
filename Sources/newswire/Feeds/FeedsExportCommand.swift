import ArgumentParser
import FeedLists
import FeedPublisher
import HostSystem
import Settings

struct FeedsExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the feed lists as OPML, for feed readers and for 'newswire feeds import'.",
        discussion: """
            Each category becomes a folder with its feeds. Keys without an OPML attribute become attributes of \
            newswire's own namespace, so that an import gives the same lists. Feeds marked 'local' are left out, and \
            listed on standard error.

            EXAMPLES
              newswire feeds export feeds.opml
              newswire feeds export --category World --category Sports | ssh other newswire feeds import --trust -
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<FeedFlags>

    @Option(
        help: ArgumentHelp("Export this category only; can be repeated.", valueName: "name"),
        completion: .listedCategories
    )
    var category: [String] = []

    @Argument(
        help: ArgumentHelp("The file to write; '-' is standard output.", valueName: "file"),
        completion: .file(extensions: ["opml"])
    )
    var file = "-"

    func run() async throws {
        let folder = try PublisherState.folder(configuration.load())
        guard !folder.lists.lists.isEmpty else {
            throw Failure(
                .badConfiguration,
                "there are no feed lists in '\(folder.directory)'",
                hint: configuration.flags.has(PublisherSettings.feeds.entry) ? nil : "pass --feeds DIRECTORY"
            )
        }
        let export = try FeedExport(folder, categories: category)
        for feed in export.leftOut { Console.notice("left out: '\(feed.display)' is local") }
        for (feed, keys) in export.withoutKeys {
            let names = keys.map { "'\($0)'" }.joined(separator: ", ")
            Console.notice("not exported, because they belong to this machine: \(names) of '\(feed.display)'")
        }
        for feed in export.withCredentials {
            Console.warning("the exported address of '\(feed.display)' contains a user name or password")
        }
        if file == "-" { return Console.print(String(export.text.dropLast())) }
        try HostFile.replace(file, with: export.text, permissions: 0o644)
    }
}
