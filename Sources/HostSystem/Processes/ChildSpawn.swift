import CHostSystem
import Glibc

/// Starts a program with `posix_spawn`: none of our code runs between fork and exec.
struct ChildSpawn {
    let process: pid_t

    /// Gives the program its three standard descriptors; `nil` leaves ours in place.
    init(_ child: ChildProcess, input: Descriptor, output: Descriptor?, errors: Descriptor?) throws(HostError) {
        let program = child.arguments.first ?? ""
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        var code = posix_spawn_file_actions_adddup2(&actions, input.number, STDIN_FILENO)
        if code == 0, let output {
            code = posix_spawn_file_actions_adddup2(&actions, output.number, STDOUT_FILENO)
        }
        if code == 0, let errors {
            code = posix_spawn_file_actions_adddup2(&actions, errors.number, STDERR_FILENO)
        }
        // Libraries open descriptors without O_CLOEXEC too.
        if code == 0 { code = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1) }
        if code == 0 { code = Self.setAttributes(&attributes) }
        guard code == 0 else { throw HostError("cannot run", program, code: code) }

        var process: pid_t = 0
        let environment = child.environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        code = Self.withCStrings(child.arguments) { arguments in
            Self.withCStrings(environment) { environment in
                posix_spawnp(&process, program, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw HostError("cannot run", program, code: code) }
        self.process = process
    }

    private static func setAttributes(_ attributes: inout posix_spawnattr_t) -> Int32 {
        var all = sigset_t()
        var none = sigset_t()
        sigfillset(&all)
        sigemptyset(&none)
        var code = posix_spawnattr_setsigdefault(&attributes, &all)
        if code == 0 { code = posix_spawnattr_setsigmask(&attributes, &none) }
        if code == 0 { code = posix_spawnattr_setpgroup(&attributes, 0) }
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if code == 0 { code = posix_spawnattr_setflags(&attributes, Int16(flags)) }
        return code
    }

    private static func withCStrings<Result>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = texts.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers)
    }
}
