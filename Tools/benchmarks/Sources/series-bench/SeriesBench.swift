import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem

/// Nocturne's part of `../dicom_scan.py`, which times whole processes.
///
///     series-bench scan FOLDER THREADS            prints the number of series and of files
///     series-bench convert FOLDER THREADS OUTPUT  writes OUTPUT_1.nii and so on, one for each volume
@main
struct SeriesBench {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, let threads = Int(arguments[3]), (1...256).contains(threads),
            arguments[1] == "scan" || arguments.count == 5
        else {
            FileHandle.standardError.write(Data("series-bench scan|convert FOLDER THREADS [OUTPUT]\n".utf8))
            exit(64)
        }
        let folder = arguments[2]
        let paths = (FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? [])
            .map { folder + "/" + $0 }
        let pool = try ComputePool(width: threads)
        defer { pool.shutdown() }
        let output = arguments.count == 5 ? arguments[4] : nil
        let counts = try await pool.run {
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            let scan = try DICOMScanner.scan(paths: paths, scope: scope)
            let volumes = scan.series.filter { $0.problem == nil }
            if let output {
                for (index, series) in volumes.enumerated() {
                    let volume = try DICOMReader.readVolume(series, scope: scope)
                    try NIfTIWriter.writeVolume(
                        volume,
                        as: .int16,
                        to: "\(output)_\(index + 1).nii",
                        scope: scope
                    )
                }
            }
            return (volumes.count, volumes.reduce(0) { $0 + $1.files.count })
        }
        print("\(counts.0) \(counts.1)")
    }
}
