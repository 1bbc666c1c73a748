import Certificates
import Foundation
import HostSystem
import PageServer
import Settings

/// The state directory of a hub on this machine.
enum HubState {
    /// Returns the configured state directory or the default, and creates it if necessary; for
    /// servers.
    ///
    /// A command that root runs continues with the rights of the directory's owner, who may have put links in it. It
    /// keeps root's rights if root has always run the hub there. `isForGood` is false if the command needs root's
    /// rights again, for files elsewhere.
    static func directory(_ settings: Settings, isForGood: Bool = true) throws -> StateDirectory {
        let directory = try StateDirectory.locate(
            role: "hub",
            override: settings.value(HubSettings.state),
            environment: ProcessInfo.processInfo.environment
        )
        try takeRights(in: directory, isForGood: isForGood)
        return directory
    }

    /// Returns the state directory of this user's hub, else that of the package's service; creates nothing.
    ///
    /// The directory may not exist. The rights are those of ``directory(_:isForGood:)``.
    ///
    /// - Throws: ``Failure`` 78 if the directory belongs to another user.
    static func existing(_ settings: Settings, isForGood: Bool = true) throws -> StateDirectory {
        let directory = try StateDirectory.existing(
            role: "hub",
            override: settings.value(HubSettings.state),
            environment: ProcessInfo.processInfo.environment,
            files: HubFiles.signs
        )
        if let refusal = Administrator.refusal(directory, attempt: "you may not use the hub on this machine") {
            throw refusal
        }
        if HostFile.exists(directory.path) { try takeRights(in: directory, isForGood: isForGood) }
        return directory
    }

    /// Returns ``existing(_:isForGood:)``, and creates the directory if necessary.
    static func existingOrNew(_ settings: Settings, isForGood: Bool = true) throws -> StateDirectory {
        let directory = try existing(settings, isForGood: isForGood)
        return HostFile.exists(directory.path) ? directory : try self.directory(settings, isForGood: isForGood)
    }

    /// Opens the database of a hub's pages, or creates it.
    static func pagesOrNew(in directory: StateDirectory) throws -> PageStore {
        if let tables = try PeopleTables(in: directory) { return PageStore(in: tables) }
        return try PageStore(path: directory.file(HubFiles.pages))
    }

    /// Opens the database of a hub's pages.
    ///
    /// - Throws: ``Failure`` with exit status 78 if the database does not exist: opening it would create it.
    static func pages(in directory: StateDirectory, _ settings: Settings) throws -> PageStore {
        if let tables = try PeopleTables(in: directory) { return PageStore(in: tables) }
        let path = directory.file(HubFiles.pages)
        guard HostFile.exists(path) else {
            throw noHub(in: directory, settings, "no hub with pages has run with the state directory")
        }
        return try PageStore(path: path)
    }

    /// Returns the failure of a command that needs a hub's files, and found none in the directory.
    static func noHub(
        in directory: StateDirectory,
        _ settings: Settings,
        _ text: String = "there is no hub in"
    ) -> Failure {
        let isFlag = settings.origin(of: HubSettings.state.entry) == .flag
        let hint = "start one with 'newswire hub'\(isFlag ? "" : ", or pass --state PATH")"
        return Failure(.badConfiguration, "\(text) '\(directory.path)'", hint: hint)
    }

    private static func takeRights(in directory: StateDirectory, isForGood: Bool) throws {
        guard !isRoots(directory) else { return }
        if isForGood {
            try FolderRights.keep(ownerOf: directory.path)
        } else {
            try FolderRights.take(ownerOf: directory.path)
        }
    }

    /// Calls `work`, which reads a file in the directory, with the rights of the directory's owner.
    static func reading<Value>(_ directory: StateDirectory, _ work: () throws -> Value) throws -> Value {
        guard HostFile.exists(directory.path), !isRoots(directory) else { return try work() }
        return try FolderRights.with(ownerOf: directory.path, work)
    }

    /// True if the directory contains files of a hub that root runs, which no other user can read.
    static func isRoots(_ directory: StateDirectory) -> Bool {
        [HubFiles.database, LocalCertificates.authorityKeyName, LocalCertificates.serverName].contains {
            FolderRights.isRoots(directory.file($0))
        }
    }
}
