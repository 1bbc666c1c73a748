import ArgumentParser
import Foundation
import HostSystem
import HubServer
import Settings

struct HubBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the hub's database into one file; the hub may go on serving.",
        discussion: """
            The copy holds messages, installations and keys: keep it as safe as the keys.

            EXAMPLES
              newswire hub backup /var/backups/hub-$(date +%F).sqlite
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Argument(help: "The file to write: a new one, or an older copy, which is replaced when this one is whole.")
    var file: String

    func run() async throws {
        let state = try stateOptions.directory(stateOptions.configuration.load(), isForGood: false)
        let database = state.file(HubFiles.database)
        guard URL(filePath: file).lastPathComponent != HubFiles.lock else {
            throw Failure(.usage, "'\(file)' is the name of a hub's lock", hint: "give the copy another name")
        }
        let isRoots = HubStateOptions.isRoots(state)
        try await usingDatabase(database) {
            try HubBackups.write(
                database: database,
                to: file,
                reading: { if !isRoots { try FolderRights.take(ownerOf: state.path) } },
                writing: { try FolderRights.take(ownerOf: Self.folder(of: file)) }
            )
        }
        Console.notice("'\(file)' is a copy of '\(state.file(HubFiles.database))'")
    }

    private static func folder(of file: String) -> String {
        URL(filePath: file).deletingLastPathComponent().path
    }
}

struct HubRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a copy in the place of the hub's database; the hub must not run.",
        discussion: """
            The replaced database is kept beside it. Messages that the hub accepted after the copy was made are lost: \
            every agent is sent a gap in their place, and registers again on its own.

            A database or a whole state directory that was put back by other means, such as a snapshot, is declared \
            with --in-place.

            EXAMPLES
              newswire hub restore /var/backups/hub-2026-11-20.sqlite
              newswire hub restore --in-place
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Flag(help: "The database in the state directory is an older copy already.")
    var inPlace = false

    @Argument(help: "The copy, as 'newswire hub backup' has written it.")
    var file: String?

    func validate() throws {
        guard inPlace == (file == nil) else { throw ValidationError("pass either FILE or --in-place") }
    }

    func run() async throws {
        let state = try stateOptions.directory(stateOptions.configuration.load(), isForGood: false)
        guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
            throw Failure(.tryLater, "a hub is using '\(state.path)'", hint: "stop it first")
        }
        defer { lock.close() }
        let database = state.file(HubFiles.database)
        if let file {
            try await restore(file, to: database, in: state)
        } else {
            try await usingDatabase(database) { try HubBackups.declareRestored(database) }
            Console.notice("'\(database)' is declared an older copy; agents are sent a gap at the next start")
        }
    }

    private func restore(_ file: String, to database: String, in state: StateDirectory) async throws {
        let isRoots = HubStateOptions.isRoots(state)
        let former = try await usingDatabase(database) {
            try HubBackups.restore(
                file,
                to: database,
                reading: { if !isRoots { try FolderRights.takeOwn() } },
                writing: { if !isRoots { try FolderRights.take(ownerOf: state.path) } }
            )
        }
        Console.notice("the hub's database is now the one of '\(file)'")
        if let former { Console.notice("the former one is kept in '\(former)'") }
    }
}
