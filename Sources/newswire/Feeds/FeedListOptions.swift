import ArgumentParser
import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import Settings

/// Options that select the feed lists and the publisher's state.
struct FeedListOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(PublisherSettings.feeds)
    var feeds: String?

    @Option(PublisherSettings.state)
    var state: String?

    func lists(_ settings: Settings) throws(FeedListsError) -> FeedLists {
        try FeedLists.load(directory: settings.value(PublisherSettings.feeds, flag: feeds))
    }

    /// Returns the publisher's state directory, for writing.
    ///
    /// A command that root runs continues with the rights of the directory's owner, who may have put links in it.
    func directory(_ settings: Settings) throws -> StateDirectory {
        let directory = try StateDirectory.locate(
            role: "publisher",
            override: settings.value(PublisherSettings.state, flag: state),
            environment: ProcessInfo.processInfo.environment
        )
        if !FolderRights.isRoots(directory.file(PublisherFiles.database)) {
            try FolderRights.keep(ownerOf: directory.path)
        }
        return directory
    }

    /// Returns the path of the publisher's database, for reading; creates nothing.
    func storePath(_ settings: Settings) throws -> String {
        let directory = try StateDirectory.path(
            role: "publisher",
            override: settings.value(PublisherSettings.state, flag: state),
            environment: ProcessInfo.processInfo.environment
        )
        return "\(directory)/\(PublisherFiles.database)"
    }
}

/// The directory of the feed lists, for commands that export them or add to them.
struct FeedFolderOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(PublisherSettings.feeds)
    var feeds: String?

    func folder(_ settings: Settings) throws(FeedListsError) -> FeedListFolder {
        try FeedListFolder.load(directory: settings.value(PublisherSettings.feeds, flag: feeds))
    }
}
