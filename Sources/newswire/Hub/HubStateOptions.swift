import ArgumentParser
import Certificates
import Foundation
import HostSystem
import HubServer
import Settings

/// Calls `work`, which uses a database, and turns SQLite's errors into failures that name the file.
func usingDatabase<Output>(_ path: String, _ work: () async throws -> Output) async throws -> Output {
    do {
        return try await work()
    } catch {
        guard let trouble = HubDatabase.trouble(error) else { throw error }
        throw Failure(
            trouble.isTemporary ? .tryLater : .badConfiguration,
            "cannot use '\(path)': \(trouble.reason)",
            hint: trouble.isTemporary ? nil : "put a copy in its place: newswire hub restore FILE"
        )
    }
}

/// Options that select a hub's state directory.
struct HubStateOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(HubSettings.state)
    var state: String?

    /// Returns the state directory from flag, environment, configuration or default, and creates it if necessary.
    ///
    /// A command that root runs continues with the rights of the directory's owner, who may have put links in it. It
    /// keeps root's rights if root has always run the hub there. `isForGood` is false if the command needs root's
    /// rights again, for files elsewhere.
    func directory(_ settings: Settings, isForGood: Bool = true) throws -> StateDirectory {
        let directory = try StateDirectory.locate(
            role: "hub",
            override: settings.value(HubSettings.state, flag: state),
            environment: ProcessInfo.processInfo.environment
        )
        guard !Self.isRoots(directory) else { return directory }
        if isForGood {
            try FolderRights.keep(ownerOf: directory.path)
        } else {
            try FolderRights.take(ownerOf: directory.path)
        }
        return directory
    }

    /// True if the directory contains files of a hub that root runs, which no other user can read.
    static func isRoots(_ directory: StateDirectory) -> Bool {
        [HubFiles.database, LocalCertificates.authorityKeyName, LocalCertificates.serverName].contains {
            FolderRights.isRoots(directory.file($0))
        }
    }
}
