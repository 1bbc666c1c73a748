import ArgumentParser
import FeedLists
import FeedPublisher
import HostSystem

struct FeedsExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the feed lists as OPML, for feed readers and for 'newswire feeds import'.",
        discussion: """
            A folder for each category, with its feeds. Keys that OPML has no attribute for are written as attributes of \
            newswire's own namespace, so that an import gives the same lists. Feeds that are 'local' are left out and \
            named on standard error.

            EXAMPLES
              newswire feeds export feeds.opml
              newswire feeds export --category World --category Sports | ssh other newswire feeds import --trust -
            """
    )

    @OptionGroup var lists: FeedFolderOptions

    @Option(help: ArgumentHelp("Only this category; can be repeated.", valueName: "name"))
    var category: [String] = []

    @Argument(help: ArgumentHelp("The file to write; standard output for '-'.", valueName: "file"))
    var file = "-"

    func run() async throws {
        let folder = try lists.folder(try lists.configuration.load())
        guard !folder.lists.lists.isEmpty else {
            throw Failure(
                .badConfiguration,
                "there are no feed lists in '\(folder.directory)'",
                hint: "pass --feeds DIRECTORY"
            )
        }
        let export = try FeedExport(folder, categories: category)
        for feed in export.leftOut { Console.notice("left out: '\(feed.display)' is local") }
        for feed in export.withCredentials {
            Console.warning("'\(feed.display)' is written with the user name or password in its address")
        }
        if file == "-" { return Console.print(String(export.text.dropLast())) }
        try HostFile.replace(file, with: export.text, permissions: 0o644)
    }
}
