import Foundation
import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

/// A machine of files.
private struct FakeMachine {
    let folder: TemporaryFolder

    init(_ files: [String: String]) throws {
        folder = try TemporaryFolder()
        for (path, text) in files { try folder.write(text, to: path) }
    }

    var reading: MemoryReading {
        MemoryReading.take(procRoot: folder("proc").path, cgroupRoot: folder("cgroup").path)
    }
}

private let meminfo = """
    MemTotal:       16000000 kB
    MemFree:          100000 kB
    MemAvailable:   12000000 kB
    Buffers:            1000 kB

    """

@Suite("MemoryReading")
struct MemoryReadingTests {
    @Test("a machine that says nothing gives a reading of nothing")
    func nothing() throws {
        #expect(try FakeMachine([:]).reading == MemoryReading())
    }

    @Test("memory, pressure and resident size are read")
    func system() throws {
        let reading = try FakeMachine([
            "proc/meminfo": meminfo,
            "proc/pressure/memory":
                "some avg10=12.34 avg60=1.00 avg300=0.10 total=99\nfull avg10=55.00 avg60=0 total=1\n",
            "proc/self/status": "VmSize:\t 4000 kB\nVmRSS:\t 1000 kB\nRssAnon:\t 600 kB\nRssFile:\t 400 kB\n",
        ]).reading
        #expect(reading.systemTotalBytes == 16_384_000_000)
        #expect(reading.systemAvailableBytes == 12_288_000_000)
        #expect(reading.stallPercent == 12.34)
        #expect(reading.residentBytes == 1_024_000)
        #expect(reading.anonymousBytes == 614_400)
        #expect(reading.cgroupLimitBytes == nil)
        #expect(reading.limitBytes == 16_384_000_000)
        #expect(reading.availableBytes == 12_288_000_000)
    }

    @Test("where the resident bytes without a file are not told apart, all count as such")
    func resident() throws {
        #expect(try FakeMachine(["proc/self/status": "VmRSS:\t 1000 kB\n"]).reading.anonymousBytes == 1_024_000)
    }

    @Test("a limit of the address space counts, less what the process has mapped")
    func addressSpace() throws {
        func reading(_ limit: String) throws -> MemoryReading {
            try FakeMachine([
                "proc/meminfo": meminfo, "proc/self/status": "VmSize:\t 4000000 kB\nVmRSS:\t 1000 kB\n",
                "proc/self/limits": "Max resident set  unlimited unlimited bytes\nMax address space  \(limit)  bytes\n",
            ]).reading
        }
        let limited = try reading("8000000000           unlimited")
        #expect(limited.limitBytes == 8_000_000_000)
        #expect(limited.availableBytes == 8_000_000_000 - 4_096_000_000)
        #expect(MemoryBudget.defaultTotal(limited) < 4_000_000_000)
        #expect(try reading("unlimited            unlimited").availableBytes == 12_288_000_000)
    }

    @Test("the tightest group of v2 counts, and inactive file pages count as free")
    func unified() throws {
        let reading = try FakeMachine([
            "proc/meminfo": meminfo,
            "proc/self/cgroup": "0::/system.slice/job.scope\n",
            "cgroup/system.slice/job.scope/memory.max": "max\n",
            "cgroup/system.slice/job.scope/memory.high": "8000000000\n",
            "cgroup/system.slice/job.scope/memory.current": "5000000000\n",
            "cgroup/system.slice/job.scope/memory.stat": "anon 1\ninactive_file 600000000\nactive_file 400000000\n",
            "cgroup/system.slice/memory.max": "10000000000\n",
            "cgroup/system.slice/memory.current": "9500000000\n",
        ]).reading
        #expect(reading.cgroupLimitBytes == 8_000_000_000)
        // 8 - (5 - 1) = 4 in the scope, but only 0.5 in the slice.
        #expect(reading.cgroupAvailableBytes == 500_000_000)
        #expect(reading.availableBytes == 500_000_000)
        #expect(reading.limitBytes == 8_000_000_000)
    }

    @Test("in a container the mount itself is the group")
    func container() throws {
        for path in ["/", "/docker/0123abcd"] {
            let reading = try FakeMachine([
                "proc/self/cgroup": "0::\(path)\n", "cgroup/memory.max": "1000000\n",
                "cgroup/memory.current": "1500000\n",
            ]).reading
            #expect(reading.cgroupLimitBytes == 1_000_000)
            #expect(reading.cgroupAvailableBytes == 0)
        }
    }

    @Test("v1 is read where it has the memory controller, and its largest number means no limit")
    func legacy() throws {
        let cgroup = "12:cpu,cpuacct:/a\n5:memory:/batch/job\n0::/elsewhere\n"
        var files = [
            "proc/self/cgroup": cgroup,
            "cgroup/memory/batch/job/memory.limit_in_bytes": "9223372036854771712\n",
            "cgroup/memory/batch/job/memory.usage_in_bytes": "300\n",
            "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "cgroup/memory/memory.usage_in_bytes": "300\n",
            "cgroup/elsewhere/memory.max": "1\n", "cgroup/elsewhere/memory.current": "1\n",
        ]
        #expect(try FakeMachine(files).reading.cgroupLimitBytes == nil)
        files["cgroup/memory/batch/memory.limit_in_bytes"] = "1000\n"
        files["cgroup/memory/batch/memory.usage_in_bytes"] = "700\n"
        files["cgroup/memory/batch/memory.stat"] = "inactive_file 1\ntotal_inactive_file 150\ntotal_active_file 50\n"
        let reading = try FakeMachine(files).reading
        #expect(reading.cgroupLimitBytes == 1000)
        #expect(reading.cgroupAvailableBytes == 500)
    }

    @Test(
        "nonsense gives no figure",
        arguments: ["", "\n", "MemTotal:", "MemTotal: many kB", "MemTotal: -5 kB", "MemTotal: 9999999999999999999 kB"]
    )
    func nonsense(text: String) throws {
        let reading = try FakeMachine([
            "proc/meminfo": text, "proc/pressure/memory": "some avg10=nan total=0", "proc/self/status": text,
            "proc/self/cgroup": "0::/../../etc\n::\nx\n" + text, "cgroup/memory.max": text,
            "cgroup/memory.current": "5",
        ]).reading
        #expect(reading == MemoryReading())
    }

    @Test("this machine can be read")
    func here() {
        let reading = MemoryReading.take()
        #expect(reading.residentBytes ?? 0 > 1 << 20)
        #expect(MemoryBudget.defaultTotal(reading) >= 64 << 20)
    }

    @Test(
        "out-of-memory kills are read from the group, or from the machine where the group does not say",
        arguments: [
            (
                [
                    "proc/self/cgroup": "4:memory:/a/b\n",
                    "cgroup/memory/a/b/memory.oom_control": "under_oom 0\noom_kill 3\n",
                ], 3
            ),
            (["proc/self/cgroup": "4:memory:/a/b\n", "cgroup/memory/a/memory.oom_control": "oom_kill 2\n"], 2),
            (["proc/self/cgroup": "0::/a\n", "cgroup/a/memory.events": "oom 9\noom_kill 5\noom_group_kill 1\n"], 5),
            (["proc/self/cgroup": "0::/\n", "proc/vmstat": "nr_free_pages 1\noom_kill 7\n"], 7),
            (["proc/self/cgroup": "0::/\n"], nil),
        ] as [([String: String], Int?)]
    )
    func kills(files: [String: String], expected: Int?) throws {
        let machine = try FakeMachine(files)
        let found = MemoryReading.outOfMemoryKills(
            procRoot: machine.folder("proc").path,
            cgroupRoot: machine.folder("cgroup").path
        )
        #expect(found == expected)
    }
}
