import AppBackend
import ArgumentParser
import Foundation
import Glibc
import HostSystem
import HubServer
import HubStore
import SQLiteFiles
import Settings

struct HubBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the hub's database into one file; the hub may be running.",
        discussion: """
            The copy contains messages, installations and keys: protect it like the keys. If the app backend has \
            users, their accounts and devices are copied to a second file, whose name ends in .backend.

            EXAMPLES
              newswire hub backup /var/backups/hub-$(date +%F).sqlite
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Argument(
        help: "The file to write: a new one, or an older copy, which is replaced once the new one is complete.",
        completion: .file()
    )
    var file: String

    func run() async throws {
        let settings = try configuration.load()
        let state = try HubState.existing(settings, isForGood: false)
        let database = state.file(HubFiles.database)
        guard ![HubFiles.lock, HubFiles.backendLock].contains(URL(filePath: file).lastPathComponent) else {
            throw Failure(.usage, "'\(file)' is the name of a hub's lock file", hint: "give the copy another name")
        }
        guard HostFile.exists(database) || HostFile.exists(state.file(HubFiles.backend)) else {
            throw HubState.noHub(in: state, settings)
        }
        let isRoots = HubState.isRoots(state)
        let entering: DatabaseCopier.Entering = { side in
            switch side {
            case .source: if !isRoots { try FolderRights.take(ownerOf: state.path) }
            case .destination: try FolderRights.take(ownerOf: URL(filePath: file).deletingLastPathComponent().path)
            }
        }
        // Accounts first: if a device changes hands in between, its new user has it at the hub, and registers it again.
        // Their error is thrown last, since the hub's database is copied even if this fails.
        let accounts = Result { try backUpAccounts(state, entering) }
        // The state directory of a separate app backend may contain no hub.
        if HostFile.exists(database) || (try? accounts.get()) == nil {
            try DatabaseFileError.naming(database) {
                try HubBackup.copy(database, to: file, entering: entering)
            }
            Console.notice("'\(file)' is a copy of '\(database)'")
        }
        guard let copy = try accounts.get() else { return }
        Console.notice(
            "'\(copy)' is a copy of '\(state.file(HubFiles.backend))', without tokens and secure notifications"
        )
    }

    /// Copies the app backend's database, if there is one.
    ///
    /// - Returns: The path of the copy.
    private func backUpAccounts(_ state: StateDirectory, _ entering: DatabaseCopier.Entering) throws -> String? {
        let database = state.file(HubFiles.backend)
        guard HostFile.exists(database) else { return nil }
        let copy = HubFiles.backendCopy(beside: file)
        try DatabaseFileError.naming(database) { try BackendBackup.copy(database, to: copy, entering: entering) }
        return copy
    }
}

struct HubRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace the hub's database with a copy; the hub must be stopped.",
        discussion: """
            The replaced database is kept in the same directory, also if a newer version has written it. Messages that the hub accepted after the copy was \
            made are lost: every agent gets a gap in their place, and registers again automatically.

            If there is a second file, FILE.backend, the accounts and devices of the app backend are restored as well. \
            All users must then log in again, since tokens may have been revoked after the copy was made.

            Use --in-place if you restored the database or the whole state directory by other means, such as a snapshot.

            EXAMPLES
              newswire hub restore /var/backups/hub-2026-11-20.sqlite
              newswire hub restore --in-place
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Flag(help: "Treat the database in the state directory as an older copy.")
    var inPlace = false

    @Argument(help: "The copy that 'newswire hub backup' wrote.", completion: .file())
    var file: String?

    func validate() throws {
        guard inPlace == (file == nil) else { throw ValidationError("pass either FILE or --in-place") }
    }

    func run() async throws {
        let settings = try configuration.load()
        if let file { try Self.refuseMissing(file) }
        let state = try HubState.existingOrNew(settings, isForGood: false)
        guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
            throw Failure(.tryLater, "a hub is using '\(state.path)'", hint: "stop it first")
        }
        defer { lock.close() }
        let accounts = try AccountsRestore(state, from: file)
        defer { accounts?.close() }
        let database = state.file(HubFiles.database)
        if let file {
            if HostFile.exists(file) || accounts == nil {
                try state.restore(HubFiles.database, of: "the hub's", from: file, with: HubBackup.restore)
            }
            try accounts?.restore()
            if accounts == nil { sayAccountsStay(file, state) }
        } else {
            if HostFile.exists(database) || accounts == nil {
                try DatabaseFileError.naming(database) { try HubBackup.declareRestored(database) }
                Console.notice("'\(database)' is marked as an older copy; agents get a gap at the next start")
            }
            try accounts?.declareRestored()
        }
    }

    /// Refuses a copy that does not exist, before a state directory is created for it.
    ///
    /// A copy that this user cannot see may be one of a folder that the hub's user can.
    private static func refuseMissing(_ file: String) throws {
        let copies = [file, HubFiles.backendCopy(beside: file)]
        guard copies.allSatisfy({ access($0, F_OK) != 0 && errno == ENOENT }) else { return }
        throw Failure(.failed, "there is no copy '\(TerminalText.safe(file))'")
    }

    private func sayAccountsStay(_ file: String, _ state: StateDirectory) {
        guard HostFile.exists(state.file(HubFiles.backend)) else { return }
        let copy = HubFiles.backendCopy(beside: file)
        Console.notice("the users of the app backend are not changed: there is no '\(copy)'")
    }
}

extension StateDirectory {
    /// Replaces a database in the directory with a copy, each opened with the rights of its owner, and says so.
    fileprivate func restore(
        _ name: String,
        of owner: String,
        from copy: String,
        with restore: (_ copy: String, _ database: String, DatabaseCopier.Entering) throws -> FormerDatabase?
    ) throws {
        let database = file(name)
        let isRoots = HubState.isRoots(self)
        let former = try DatabaseFileError.naming(database) {
            try restore(copy, database) { side in
                guard !isRoots else { return }
                switch side {
                case .source: try FolderRights.takeOwn()
                case .destination: try FolderRights.take(ownerOf: path)
                }
            }
        }
        Console.notice("\(owner) database is restored from '\(copy)'")
        FormerDatabases(of: database).say(former)
    }
}

extension FormerDatabases {
    /// Prints where a restore has kept the former database, and removes the oldest ones.
    func say(_ former: FormerDatabase?) {
        guard let former else { return }
        let origin = former.isOfNewerVersion ? ", which a newer version of newswire has written," : ""
        Console.notice("the former database\(origin) is kept in '\(former.path)'")
        for path in removeOldest() {
            Console.notice("removed '\(path)': restores keep the last \(Self.kept) former databases")
        }
    }
}

/// The app backend's part of a restore.
///
/// It holds the app backend's lock, so that no server can use the files.
private struct AccountsRestore {
    private let state: StateDirectory
    /// The path of the copy; `nil` for a database that was restored by other means.
    private let copy: String?
    private let lock: FileLock

    /// Prepares the restore; `nil` if there is nothing to restore.
    ///
    /// - Throws: ``Failure`` 75 while an app backend uses the files.
    init?(_ state: StateDirectory, from file: String?) throws {
        self.state = state
        copy = file.map(HubFiles.backendCopy)
        guard HostFile.exists(copy ?? state.file(HubFiles.backend)) else { return nil }
        guard let lock = try FileLock.acquire(state.file(HubFiles.backendLock)) else {
            throw Failure(.tryLater, "an app backend is using '\(state.path)'", hint: "stop it first")
        }
        self.lock = lock
    }

    func close() { lock.close() }

    func restore() throws {
        guard let copy else { return }
        try state.restore(HubFiles.backend, of: "the app backend's", from: copy, with: BackendBackup.restore)
        sayTokensAreGone()
    }

    func declareRestored() throws {
        let database = state.file(HubFiles.backend)
        try DatabaseFileError.naming(database) { try BackendBackup.declareRestored(database) }
        sayTokensAreGone()
    }

    private func sayTokensAreGone() {
        Console.notice("all tokens of users are revoked, since some may have been revoked after the copy was made")
        Console.notice("since then changed passwords and removed users are back: change and remove them again")
    }
}
