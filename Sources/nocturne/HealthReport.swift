import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturneSystem

/// What `doctor` finds: one line a fact, each fit, worth a look, or a fault.
struct HealthReport: Encodable {
    enum State: String, Encodable { case ok, warning, fault }

    struct Finding: Encodable {
        let subject: String
        let state: State
        let fact: String
    }

    let schemaVersion = 1
    let version: String
    private(set) var findings: [Finding] = []

    init(version: String) { self.version = version }

    var hasFault: Bool { findings.contains { $0.state == .fault } }

    var text: String {
        let marks: [State: String] = [.ok: "ok", .warning: "look", .fault: "FAULT"]
        return Terminal.table(findings.map { [marks[$0.state] ?? "", $0.subject, $0.fact] })
    }

    private mutating func add(_ subject: String, _ fact: String, _ state: State = .ok) {
        findings.append(Finding(subject: subject, state: state, fact: fact))
    }

    // MARK: The machine

    mutating func examineProcessor() {
        let count = ProcessInfo.processInfo.activeProcessorCount
        add("nocturne", "\(version) on \(ProcessInfo.processInfo.operatingSystemVersionString)")
        let precisions = InferencePrecision.allCases.filter(BuiltinEngine.precisions.contains).map(\.rawValue)
        add("processor", "\(count) cores for this process; precisions \(precisions.joined(separator: ", "))")
    }

    mutating func examineMemory() {
        let reading = MemoryReading.take()
        func words(_ bytes: Int?) -> String { bytes.map { "\(ByteCount($0))" } ?? "unknown" }
        let budget = MemoryBudget.defaultTotal(reading)
        add(
            "memory",
            "\(words(reading.systemAvailableBytes)) of \(words(reading.systemTotalBytes)) available; the budget would be "
                + "\(ByteCount(budget))",
            budget < 1 << 30 ? .warning : .ok
        )
        if let limit = reading.cgroupLimitBytes {
            add(
                "memory limit",
                "\(ByteCount(limit)) by a cgroup, \(words(reading.cgroupAvailableBytes)) of it available"
            )
        } else {
            add("memory limit", "none by a cgroup")
        }
        if let stall = reading.stallPercent {
            add("memory pressure", "\(stall) % of the last ten seconds lost to it", stall > 10 ? .warning : .ok)
        } else {
            add("memory pressure", "this kernel does not tell (no /proc/pressure/memory)")
        }
    }

    mutating func examineClock() {
        let year = Calendar(identifier: .gregorian).component(.year, from: Date())
        add("clock", Timestamp.now(), (2024..<2100).contains(year) ? .ok : .warning)
    }

    mutating func examineLibraries() {
        var versions = FormatLibraries.versions
        do {
            versions.append(("SQLite", try Journal.libraryVersion()))
        } catch {
            add("SQLite", "\(error)", .fault)
        }
        add("libraries", versions.map { "\($0.name) \($0.version)" }.joined(separator: ", "))
    }

    /// Writes, flushes, exchanges and removes files where results would go.
    mutating func examineDisk(_ folder: String) {
        var place = folder
        while !FileSystem.exists(place), place != "/" { place = (place as NSString).deletingLastPathComponent }
        let trial = place + "/.nocturne-doctor-\(getpid())"
        defer { FileSystem.remove(trial) }
        do {
            try FileSystem.makeFolder(trial)
            let bytes = [UInt8](repeating: 7, count: 64 << 20)
            let start = ContinuousClock.now
            try FileSystem.write(trial + "/speed", bytes, flush: true)
            let time = ContinuousClock.now - start
            let seconds = time.inSeconds
            let speed = Int(Double(bytes.count) / max(seconds, 1e-6)) >> 20
            let free = FileSystem.freeBytes(at: trial) ?? 0
            add(
                "disk",
                "\(place): \(ByteCount(free)) free, \(speed) MiB/s written and flushed",
                free < 1 << 30 || speed < 20 ? .warning : .ok
            )
            try FileSystem.makeFolder(trial + "/a")
            try FileSystem.makeFolder(trial + "/b")
            try FileSystem.putInPlace(trial + "/a", at: trial + "/b", movingOldTo: trial + "/old")
            add("renames", "results can be put in place")
        } catch {
            add("disk", "\(error)", .fault)
        }
    }

    // MARK: Engines and models

    mutating func examineOpenVINO() {
        do {
            add("OpenVINO", try OpenVINOEngine(environment: ProcessInfo.processInfo.environment).version)
        } catch {
            add("OpenVINO", "not there, and not needed by networks that the builtin engine runs")
        }
    }

    /// Verifies the packages on the search path, and runs one patch of `one`.
    mutating func examineModels(one: String?) async throws {
        for entry in LoadedModels.catalog.entries() {
            switch entry.package {
            case .success(let package): add("model", "\(package.id) \(package.version)")
            case .failure(let error): add("model", "\(entry.folderName): \(error)", .warning)
            }
        }
        guard let one else { return }
        let package = try LoadedModels.package(one)
        do {
            let threads = max(1, ProcessInfo.processInfo.activeProcessorCount)
            let report = try await CheckReport(package: package, threads: threads, repeats: 1)
            add("one patch", package.id + "\n" + report.text)
        } catch {
            add("one patch", "\(package.id): \(error)", .fault)
        }
    }
}
