import Foundation
import Glibc
import HostSystem
import PrometheusText

/// Linux's figures for this process, under the names that Prometheus clients use.
struct ProcessFigures {
    /// The time at which the server was created, in seconds since 1970.
    let startedAt: Double

    func add(to page: inout PrometheusText) {
        var usage = rusage()
        if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            let seconds = usage.ru_utime.seconds + usage.ru_stime.seconds
            page.add("process_cpu_seconds_total", .counter, "CPU time, user and system.", [.init(seconds)])
        }
        if let resident = ProcessMemory.residentBytes {
            page.add("process_resident_memory_bytes", .gauge, "Resident memory.", [.init(resident)])
        }
        page.add("process_start_time_seconds", .gauge, "Start of the process, since 1970.", [.init(startedAt)])
        // One descriptor belongs to this listing.
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count - 1 {
            page.add("process_open_fds", .gauge, "Open descriptors.", [.init(open)])
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            page.add("process_max_fds", .gauge, "Maximum number of open descriptors.", [.init(limit.rlim_cur)])
        }
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1_000_000 }
}
