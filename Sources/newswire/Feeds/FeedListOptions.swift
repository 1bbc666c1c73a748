import ArgumentParser
import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import Settings

/// Which feeds, and where what is known of them is kept.
struct FeedListOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(PublisherSettings.feeds)
    var feeds: String?

    @Option(PublisherSettings.state)
    var state: String?

    func lists(_ settings: Settings) throws(FeedListsError) -> FeedLists {
        try FeedLists.load(directory: settings.value(PublisherSettings.feeds, flag: feeds))
    }

    /// The directory of a publisher that is to write there.
    ///
    /// A command of root goes on with the rights of the directory's owner, who may have put links in it.
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

    /// The store's path, for reading; nothing is made.
    func storePath(_ settings: Settings) throws -> String {
        let directory = try StateDirectory.path(
            role: "publisher",
            override: settings.value(PublisherSettings.state, flag: state),
            environment: ProcessInfo.processInfo.environment
        )
        return "\(directory)/\(PublisherFiles.database)"
    }
}

/// The directory of the feed lists, for commands that hand them on or add to them.
struct FeedFolderOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(PublisherSettings.feeds)
    var feeds: String?

    func folder(_ settings: Settings) throws(FeedListsError) -> FeedListFolder {
        try FeedListFolder.load(directory: settings.value(PublisherSettings.feeds, flag: feeds))
    }
}
