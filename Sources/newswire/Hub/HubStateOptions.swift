import ArgumentParser
import Certificates
import Foundation
import HostSystem
import HubServer
import Settings

/// Runs work on a hub's file, and turns SQLite's errors into failures that name the file.
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

/// Options that choose a hub's state directory.
struct HubStateOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(HubSettings.state)
    var state: String?

    /// Returns the directory that flag, environment, file or default name, and creates it if necessary.
    ///
    /// A command of root continues with the rights of the directory's owner, who may have put links in it. It keeps
    /// root's rights in a directory where root has always run the hub. `isForGood` is false if the command needs root's
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

    /// True if the directory contains files of a hub that root runs; no other user could read them.
    static func isRoots(_ directory: StateDirectory) -> Bool {
        [HubFiles.database, LocalCertificates.authorityKeyName, LocalCertificates.serverName].contains {
            FolderRights.isRoots(directory.file($0))
        }
    }
}
