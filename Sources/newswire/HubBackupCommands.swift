import ArgumentParser
import Foundation
import HostSystem
import HubServer

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
        try await reportingFailures {
            let state = try stateOptions.directory(stateOptions.configuration.load())
            let database = state.file(HubFiles.database)
            guard URL(filePath: file).lastPathComponent != HubFiles.lock else {
                throw Failure(.usage, "'\(file)' is the name of a hub's lock", hint: "give the copy another name")
            }
            try await usingDatabase(database) { try HubBackups.write(database: database, to: file) }
            Console.notice("'\(file)' is a copy of '\(state.file(HubFiles.database))'")
        }
    }
}

struct HubRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a copy in the place of the hub's database; the hub must not run.",
        discussion: """
            The replaced database is kept beside it. Agents that have seen more than the copy holds are told of a gap, \
            and register again by themselves.

            EXAMPLES
              newswire hub restore /var/backups/hub-2026-11-20.sqlite
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Argument(help: "The copy, as 'newswire hub backup' has written it.")
    var file: String

    func run() async throws {
        try await reportingFailures {
            let state = try stateOptions.directory(stateOptions.configuration.load())
            guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
                throw Failure(.tryLater, "a hub is using '\(state.path)'", hint: "stop it first")
            }
            defer { lock.close() }
            let database = state.file(HubFiles.database)
            let former = try await usingDatabase(database) { try HubBackups.restore(file, to: database) }
            Console.notice("the hub's database is now the one of '\(file)'")
            if let former { Console.notice("the former one is kept in '\(former)'") }
        }
    }
}
