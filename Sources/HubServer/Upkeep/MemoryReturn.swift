import HostSystem
import ServiceLifecycle

/// Gives the memory that a crowd of clients has used back to the system after it has left.
struct MemoryReturn: Service {
    /// Time between two looks.
    static let interval = Duration.seconds(20)

    /// Decides when memory is given back: looking for what can be given back takes milliseconds, in which other threads
    /// may wait, so it happens only after the process has grown.
    struct Judge: Sendable {
        /// Growth in bytes below which it is not worth the time.
        static let growth = 16 << 20
        /// The part of the memory that must have come anew, as a divisor: a large hub has more to look through.
        static let part = 8

        private var lowest: Int

        init(resident: Int) { lowest = resident }

        /// True if freed memory is to be given back now; then report the result to ``returned(resident:)``.
        mutating func isDue(resident: Int) -> Bool {
            lowest = min(lowest, resident)
            return resident - lowest >= max(Self.growth, lowest / Self.part)
        }

        mutating func returned(resident: Int) { lowest = resident }
    }

    func run() async throws {
        guard let resident = ProcessMemory.residentBytes else { return try await gracefulShutdown() }
        await cancelWhenGracefulShutdown {
            var judge = Judge(resident: resident)
            while (try? await Task.sleep(for: Self.interval)) != nil {
                guard let resident = ProcessMemory.residentBytes, judge.isDue(resident: resident) else { continue }
                ProcessMemory.returnFreed()
                judge.returned(resident: ProcessMemory.residentBytes ?? resident)
            }
        }
    }
}
