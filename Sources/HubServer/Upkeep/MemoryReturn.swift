import HostSystem
import ServiceLifecycle

/// Gives the memory that a crowd of clients has used back to the system after it has left.
struct MemoryReturn: Service {
    /// Time between two looks.
    static let interval = Duration.seconds(20)

    /// Decides when memory is given back: looking for what can be given back takes milliseconds, in which other threads
    /// may wait.
    ///
    /// A crowd that leaves makes the process no larger or smaller, so a process that is larger than before is looked
    /// through again and again, each time after twice as many looks if nothing was found.
    struct Judge: Sendable {
        /// Growth in bytes below which it is not worth the time.
        static let growth = 16 << 20
        /// The part of the memory that must have come anew, as a divisor: a large hub has more to look through.
        static let part = 8
        /// The largest number of looks between two returns: ten minutes.
        static let longestPause = 30

        private var lowest: Int
        /// After the last return.
        private var last: Int
        /// Number of looks from one return to the next.
        private var pause = 1
        private var looks = 0

        init(resident: Int) {
            lowest = resident
            last = resident
        }

        /// True if freed memory is to be given back now; then report the result to ``returned(from:resident:)``.
        mutating func isDue(resident: Int) -> Bool {
            lowest = min(lowest, resident)
            last = min(last, resident)
            let growth = max(Self.growth, lowest / Self.part)
            guard resident - lowest >= growth else {
                (pause, looks) = (1, 0)
                return false
            }
            looks += 1
            return looks >= pause || resident - last >= growth
        }

        mutating func returned(from former: Int, resident: Int) {
            pause = former - resident >= Self.growth / 4 ? 1 : min(pause * 2, Self.longestPause)
            (last, looks) = (resident, 0)
        }
    }

    func run() async throws {
        guard let resident = ProcessMemory.residentBytes else { return try await gracefulShutdown() }
        await cancelWhenGracefulShutdown {
            var judge = Judge(resident: resident)
            while (try? await Task.sleep(for: Self.interval)) != nil {
                guard let resident = ProcessMemory.residentBytes, judge.isDue(resident: resident) else { continue }
                ProcessMemory.returnFreed()
                judge.returned(from: resident, resident: ProcessMemory.residentBytes ?? resident)
            }
        }
    }
}
