import ArgumentParser
import Formats
import Foundation
import Glibc
import HostSystem
import HubProtocol
import HubServer
import HubStore
import NetworkAddresses
import OutboundHTTP
import SQLiteFiles
import Settings

struct HubJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Make this machine one more hub of a log, with a code from the machine of another one.",
        discussion: """
            Fetches the keys and a copy of the database from a running hub, writes the configuration, and starts the \
            hub, which then follows the log. 'newswire hub invite --node NAME' prints the code there; without \
            --code-file this command asks for it on the terminal.

            The address is that of the hub which has made the code, not that of a load balancer. The code names its \
            key, so that no other server can take its place.

            EXAMPLES
              newswire hub join https://log1.example.org:8787
              newswire hub join https://log1.example.org:8787 --code-file code
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Argument(help: ArgumentHelp("The address of the hub that has made the code.", valueName: "URL"))
    var address: String

    @Option(
        help: ArgumentHelp(
            "The file that contains the code; '-' is standard input (default: ask on the terminal).",
            valueName: "path"
        ),
        completion: .file()
    )
    var codeFile: String?

    /// Maximum bytes of the line before the database.
    private static let maximumHead = 2 * NodeInvitation.maximumBytes

    private var base: String { address.hasSuffix("/") ? String(address.dropLast()) : address }

    func validate() throws {
        guard address.hasPrefix("https://"), Authority(base.dropFirst("https://".count)) != nil else {
            throw ValidationError("the address must be such as https://log1.example.org:8787")
        }
    }

    func run() async throws {
        let code = try readCode()
        var edited = try EditedConfiguration(configuration.config, ProcessInfo.processInfo.environment)
        let settings = edited.settings.overridden(by: configuration.flags.values)
        let state = try stateDirectory(settings, edited.units)
        let parcel = try await fillState(state, code)
        // The configuration is root's.
        try FolderRights.takeOwn()
        try edited.apply(try putLogFiles(parcel, edited) + changes(parcel, edited))
        try edited.write()
        _ = try edited.units?.putDropIn(isNeeded: true, isDryRun: false)
        Console.notice("this machine has the keys and the database of the hub, and is '\(parcel.node)' in the log")
        try await start(edited)
    }

    private func readCode() throws -> NodeCode {
        let text: String?
        do throws(HostError) {
            text = try codeFile == nil ? HiddenInput.line(prompt: "Code: ") : nil
        } catch {
            throw Failure(.usage, "\(error)", hint: "pass --code-file PATH, or '-' for standard input")
        }
        let given = try text ?? codeFile.map(PasswordOptions.text) ?? ""
        guard let code = NodeCode(given.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Failure(
                .usage,
                "that is not a code of 'newswire hub invite --node'",
                hint: "it is one line of 87 characters, with a dot in the middle"
            )
        }
        return code
    }

    /// The state directory of the service, or else of this user; as long as the process has the rights of its owner.
    private func stateDirectory(_ settings: Settings, _ units: SetupUnits?) throws -> StateDirectory {
        let path = "\(StateDirectory.services)/hub"
        if let units, !units.isOfUser, settings.value(HubSettings.state) == nil, !HostFile.exists(path),
            let user = UserEntry(named: SetupUnits.user)
        {
            // The service manager creates it at the first start of the service, which is still to come.
            try SetupCommand.makeFolder(StateDirectory.services)
            guard mkdir(path, 0o700) == 0, chown(path, user.user, user.group) == 0 else {
                throw HostError("cannot create", path, code: errno)
            }
        }
        return try HubState.existingOrNew(settings, isForGood: false)
    }

    // MARK: - The state directory

    /// Fetches keys and database into a state directory whose hub does not run.
    private func fillState(_ state: StateDirectory, _ code: NodeCode) async throws -> NodeInvitation.Parcel {
        let database = state.file(HubFiles.database)
        guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
            throw Failure(.tryLater, "a hub is using '\(state.path)'", hint: "stop it first")
        }
        defer { lock.close() }
        if HostFile.exists(database), try LogMembership.position(of: database) == nil {
            throw Failure(
                .badConfiguration,
                "'\(state.path)' is of a hub with content of its own, which cannot join others",
                hint: "use another machine or --state PATH; its database could only become the beginning of a log"
            )
        }
        let copy = database + ".joining"
        defer { unlink(copy) }
        let parcel = try await fetch(code, to: copy)
        for (name, text) in parcel.stateFiles.sorted(by: { $0.key < $1.key }) {
            guard NodeInviter.stateFiles.contains(name) else { throw Self.unusable }
            try PrivateFile.write(text, to: state.file(name))
        }
        let former = try DatabaseFileError.naming(database) { try HubBackup.restore(copy, to: database) }
        FormerDatabases(of: database).say(former)
        return parcel
    }

    private static let unusable = Failure(
        .failed,
        "the hub's answer cannot be used; nothing was changed",
        hint: "make another code, and use the same version on both machines"
    )

    /// Fetches the parcel, and the database into a new file.
    private func fetch(_ code: NodeCode, to copy: String) async throws -> NodeInvitation.Parcel {
        unlink(copy)
        let descriptor = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw HostError("cannot write", copy, code: errno) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var request = OutboundRequest(
            method: "POST",
            url: base + HubService.admissionPath,
            headers: [("Content-Type", "text/plain")],
            body: Array(code.secret.text.utf8),
            totalTimeout: nil,
            maximumRedirects: 0,
            addresses: .any
        )
        request.publicKeyHash = code.publicKeyHash
        do {
            return try await withHTTP { [request] http in
                let stream = try await http.stream(request)
                guard stream.status == 200 else { throw Self.refusal(stream.status, address) }
                return try await Self.read(stream, into: file)
            }
        } catch OutboundError.untrusted {
            throw Failure(
                .failed,
                "the server at \(address) is not the hub that has made the code",
                hint: "use the address of that hub itself; if this is it, its certificate is new: make another code"
            )
        } catch let error as OutboundError {
            throw Failure(.hubUnreachable, "cannot fetch the hub's keys and database: \(error)")
        }
    }

    private static func read(_ stream: OutboundStream, into file: FileHandle) async throws -> NodeInvitation.Parcel {
        var head: [UInt8] = []
        var parcel: NodeInvitation.Parcel?
        var received = 0
        while let bytes = try await stream.nextChunk() {
            var rest = bytes[...]
            if parcel == nil {
                head += bytes
                guard let end = head.firstIndex(of: UInt8(ascii: "\n")) else {
                    guard head.count <= maximumHead else { throw unusable }
                    continue
                }
                parcel = try? JSONReader.decode(NodeInvitation.Parcel.self, from: Array(head[..<end]))
                guard parcel != nil else { throw unusable }
                rest = head[(end + 1)...]
            }
            received += rest.count
            try file.write(contentsOf: Data(rest))
        }
        guard let parcel, received == parcel.databaseBytes else { throw unusable }
        return parcel
    }

    private static func refusal(_ status: Int, _ address: String) -> Failure {
        switch status {
        case 403:
            Failure(
                .failed,
                "the hub at \(address) does not know the code: it was used, or has expired",
                hint: "make another one with 'newswire hub invite --node NAME' on the hub's own machine"
            )
        case 404:
            Failure(.failed, "the server at \(address) is not a hub that shares a log, or has an earlier version")
        case 409:
            Failure(
                .failed,
                "a hub with the code's name is running",
                hint: "make a code with another name, or stop that hub and wait for 15 seconds"
            )
        default: Failure(.failed, "the hub at \(address) refuses the code (status \(status))")
        }
    }

    // MARK: - The configuration

    /// Writes the files for the log's servers beside the configuration; returns the settings that name them.
    private func putLogFiles(
        _ parcel: NodeInvitation.Parcel,
        _ edited: EditedConfiguration
    ) throws -> [SettingChange] {
        let folder = "\(edited.folder)/log"
        if !parcel.logFiles.isEmpty { try SetupCommand.makeFolder(folder) }
        return try parcel.logFiles.sorted { $0.key < $1.key }.map { name, text in
            guard let entry = JoinedLog.settings[name] else { throw Self.unusable }
            let path = "\(folder)/\(name)"
            try HostFile.replace(path, with: text, permissions: entry.isSecretFile ? 0o600 : 0o644)
            if entry.isSecretFile, let units = edited.units, !units.isOfUser,
                let user = UserEntry(named: SetupUnits.user),
                chown(path, user.user, user.group) != 0
            {
                throw HostError("cannot give to '\(SetupUnits.user)'", path, code: errno)
            }
            return SettingChange(entry, .word(path))
        }
    }

    /// The other settings of this hub that the file does not have yet.
    private func changes(_ parcel: NodeInvitation.Parcel, _ edited: EditedConfiguration) -> [SettingChange] {
        var changes = [SettingChange(HubSettings.logNode.entry, .word(parcel.node))]
        for (id, text) in parcel.settings.sorted(by: { $0.key < $1.key }) {
            guard let entry = SettingsTable.entries.first(where: { $0.id == id }), !entry.isOfMachine,
                (try? entry.read(text)) != nil
            else { continue }
            changes.append(SettingChange(entry, text: text))
        }
        if let state = configuration.flags.value(HubSettings.state) {
            changes.append(SettingChange(HubSettings.state.entry, .word(state)))
        }
        return changes.filter { edited.text(of: $0.entry) != $0.text }
    }

    private func start(_ edited: EditedConfiguration) async throws {
        guard let units = edited.units else {
            return Console.notice(
                (["start it with: newswire hub"] + edited.naming.map(\.shellWord)).joined(separator: " ")
            )
        }
        if units.isManaged { return try await units.start(units.hubCommands) }
        Console.notice("these commands start it:")
        for command in units.hubCommands { Console.print("  \(command.joined(separator: " "))") }
    }
}
