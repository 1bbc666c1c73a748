import Foundation
import Glibc
import HostSystem
import PrometheusText

/// The metrics of any server: its version, and Linux's figures for its process under the names that Prometheus clients
/// use.
package struct ServerMetrics: Sendable {
    let version: String?
    /// The time at which the server was created, in seconds since 1970.
    let startedAt: Double

    package init(version: String?, startedAt: Double) {
        self.version = version
        self.startedAt = startedAt
    }

    /// Lines for `/metrics` in the text format of Prometheus.
    package var text: String { PrometheusText(metrics).text }

    var metrics: [PrometheusText.Metric] {
        var (usage, limit) = (rusage(), rlimit())
        let hasUsage = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0
        let hasLimit = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        // One descriptor belongs to this listing.
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count - 1
        return [
            (
                "newswire_build_info", .gauge, "The running version; always 1.",
                version.map { [.init(1, ["version": $0])] } ?? []
            ),
            (
                "process_cpu_seconds_total", .counter, "CPU time, user and system.",
                hasUsage ? [.init(usage.ru_utime.seconds + usage.ru_stime.seconds)] : []
            ),
            (
                "process_resident_memory_bytes", .gauge, "Resident memory.",
                ProcessMemory.residentBytes.map { [.init($0)] } ?? []
            ),
            ("process_start_time_seconds", .gauge, "Start of the process, since 1970.", [.init(startedAt)]),
            ("process_open_fds", .gauge, "Open descriptors.", open.map { [.init($0)] } ?? []),
            (
                "process_max_fds", .gauge, "Maximum number of open descriptors.",
                hasLimit ? [.init(limit.rlim_cur)] : []
            ),
        ]
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1_000_000 }
}
