import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import Settings

/// The feed lists and the state of a publisher on this machine.
enum PublisherState {
    static func lists(_ settings: Settings) throws(FeedListsError) -> FeedLists {
        try FeedLists.load(directory: settings.value(PublisherSettings.feeds))
    }

    /// Returns the folder of the feed lists, for commands that export them or add to them.
    static func folder(_ settings: Settings) throws(FeedListsError) -> FeedListFolder {
        try FeedListFolder.load(directory: settings.value(PublisherSettings.feeds))
    }

    /// Returns the publisher's state directory, for writing: for root also that of the package's service.
    ///
    /// A command that root runs continues with the rights of the directory's owner, who may have put links in it.
    static func directory(_ settings: Settings) throws -> StateDirectory {
        let directory = try StateDirectory.locate(
            role: "publisher",
            override: try existing(settings).path,
            environment: ProcessInfo.processInfo.environment
        )
        try takeRights(in: directory)
        return directory
    }

    /// Returns the path of the publisher's database, for reading; creates nothing.
    ///
    /// The rights are those of ``directory(_:)``: SQLite may create files beside a database that it reads.
    static func storePath(_ settings: Settings) throws -> String {
        let directory = try existing(settings)
        if HostFile.exists(directory.path) { try takeRights(in: directory) }
        return directory.file(PublisherFiles.database)
    }

    private static func existing(_ settings: Settings) throws -> StateDirectory {
        try StateDirectory.existing(
            role: "publisher",
            override: settings.value(PublisherSettings.state),
            environment: ProcessInfo.processInfo.environment,
            files: [PublisherFiles.database],
            // Every user can have a publisher.
            mustBeUsable: true
        )
    }

    private static func takeRights(in directory: StateDirectory) throws {
        if FolderRights.isRoots(directory.file(PublisherFiles.database)) { return }
        try FolderRights.keep(ownerOf: directory.path)
    }
}
