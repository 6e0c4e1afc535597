package import NocturneSystem

extension FaultCode {
    /// What a user can do about an item that was not completed for this reason: one or two sentences, with
    /// `OUT` for the folder of the batch.
    package var remedy: String {
        Self.exact[rawValue] ?? Self.domains[domain]
            ?? "Read the reason; `nocturne resume OUT --failed` tries the item again."
    }

    /// The remedy for a batch, with the path of its folder in the place of `OUT`.
    package func remedy(in output: OutputFolder) -> String {
        let command = "nocturne resume OUT"
        return remedy.contains(command) ? remedy.replacing(command, with: output.retrial) : remedy
    }

    /// The codes and domains with a separate text.
    package static var withRemedy: Set<String> { Set(exact.keys).union(domains.keys) }

    /// How the texts begin that ask for nothing.
    package static let nothingToDo = "Nothing to do"
    private static let notAnInput = "Nothing to do: it is not an input of the batch's models."
    private static let exportAgain =
        "Export the whole series, or the damaged object, from the archive again, or leave it out with --exclude. "
        + "`nocturne inspect` shows what was found."
    private static let tilted =
        "If the reason offers --fix-tilt, use `nocturne resume OUT --fix-tilt`; otherwise export the series again."
    private static let copyAgain =
        "The file is damaged or incomplete: copy or convert it again, then use `nocturne resume OUT --failed`."
    private static let report =
        "This is a fault of Nocturne: report it with the log in .nocturne/. `nocturne resume OUT --failed` tries the item again."
    private static let checkDisk = "Check the disk or share, then use `nocturne resume OUT --failed`."

    private static let domains = [
        "batch": "Read the reason, correct what it names, then use `nocturne resume OUT --failed`.",
        "case": "Give every case exactly the channels that the model takes, named <case>_0000, <case>_0001 and so on.",
        "dicom": exportAgain,
        "dicomObject": "Leave out --dicom-seg and --rtstruct, or export the source series again.",
        "disk": checkDisk,
        "engine": "Try another engine with --engine; `nocturne doctor` shows which ones this machine has.",
        "file": checkDisk,
        "input": notAnInput,
        "internal": report,
        "item": report,
        "journal": "Read the reason; `nocturne resume OUT --failed` tries the item again.",
        "memory":
            "Use `nocturne resume OUT --failed` with a larger --memory, or process the item on a machine that has more.",
        "mesh": checkDisk,
        "metadata":
            "Correct the item's row in the metadata table, or its own metadata file, then use `nocturne resume OUT --failed`.",
        "model": "Test the package with `nocturne models check`.",
        "network": "Test the package with `nocturne models check`; the network's output cannot be used for this input.",
        "nifti": copyAgain,
        "output": "Check the output folder and its disk, then use `nocturne resume OUT`.",
        "pdf": checkDisk,
        "photo": copyAgain,
        "picture": checkDisk,
        "regions": "Correct the file of --rois, then use `nocturne resume OUT --failed`.",
        "run": "`nocturne resume OUT` processes it.",
        "system": "Read the reason; `nocturne resume OUT --failed` tries the item again.",
        "tiff": copyAgain,
        "volume":
            "Look at the volume with `nocturne inspect`, and leave it out with --exclude if it cannot be corrected.",
    ]

    private static let exact = [
        "case.gridsDiffer":
            "Resample the other channels onto the grid of the first, or correct their headers, then use `nocturne resume OUT --failed`.",
        "dicom.badDimensions":
            "Leave the series out with --exclude, or export it again from where its image can be shown.",
        "dicom.colour": notAnInput,
        "dicom.derived": "--include-derived processes derived images; otherwise there is nothing to do.",
        "dicom.duplicateSlices":
            "If the reason names elements that differ, export each volume completely, as a separate series; otherwise remove the "
            + "second copy of the slices.",
        "dicom.internalFault": report,
        "dicom.listedFilesMissing":
            "Copy the disc or folder again, with all files that the DICOMDIR lists; or leave the DICOMDIR out with --exclude.",
        "dicom.localizer": notAnInput,
        "dicom.mediaDirectory": notAnInput,
        "dicom.missingDictionary":
            "Install DCMTK's data dictionary (libdcmtk), then use `nocturne resume OUT --failed`.",
        "dicom.missingPixelData":
            "Export the images with their pixel data, not the headers alone; or leave them out with --exclude.",
        "dicom.labelGrid":
            "Labels are read on straight, even grids. Give the images with them if these form a volume, or convert the labels to NIfTI.",
        "dicom.notAnImageClass": notAnInput,
        "dicom.notOpened": "Check that the file can be read, then use `nocturne resume OUT --failed`.",
        "dicom.otherObject": notAnInput,
        "dicom.sheared": tilted,
        "dicom.singleSlice":
            "If one file was given, give the folder of its series; otherwise export the whole series.",
        "dicom.spacingNotUniform": tilted,
        "dicom.unsupportedPixels":
            "Convert the series to a common transfer syntax, for instance with dcmconv, and use `nocturne resume OUT --failed`.",
        "disk.full": "Free space on the disk, or use a larger one, then use `nocturne resume OUT --failed`.",
        "file.noPermission":
            "Allow this user to read the file, and to change the folder of the result, then use `nocturne resume OUT --failed`.",
        "input.changed":
            "The file changed or was removed meanwhile: `nocturne resume OUT` processes it as it is now; if it no longer exists, "
            + "`nocturne forget OUT ITEM` removes the item.",
        "input.changedSincePlan":
            "The file changed after the batch was divided: merge the shards, then `nocturne run` with the batch's inputs and "
            + "options processes it as it is now.",
        "input.crashesReader": report,
        "item.engineCrashed":
            "If memory ran out, use `nocturne resume OUT --failed` with a smaller --memory. Otherwise report it with the log in "
            + ".nocturne/: it is a fault of Nocturne.",
        "input.empty": "Copy or download the file again.",
        "input.isPhoto": "Use a model for photos.",
        "input.isVolume": "Use a model for volumes.",
        "input.labelMap":
            "Leave label maps out with --exclude, or measure them with --existing-labels --label-images FOLDER in a separate batch.",
        "input.metadataUnusable": exportAgain,
        "input.noLabels":
            "Give labels to measure: DICOM segmentations, structure sets, or label maps and the folder of their images with "
            + "--label-images. To make labels, give a model with --model.",
        "input.noLongerFound":
            "Nothing to do, unless the file or its model was left out by mistake: then give it again.",
        "input.notAFile": "Replace the link or pipe by the file itself, then use `nocturne resume OUT`.",
        "input.notForModel":
            "Use a model for this kind of input, or leave the input out with --exclude.",
        "input.notSelected":
            "Correct the pattern of --only: it is compared with the file name and with the path inside the input folder.",
        "input.notResponding": "Check the disk or share that holds the file, then use `nocturne resume OUT --failed`.",
        "input.otherBatch": "To use files in it as inputs, name each file.",
        "input.timeSeries":
            "`nocturne resume OUT --time-series` processes each of its volumes; --exclude leaves it out.",
        "input.singleSlice": "Give the whole volume, or use a model for single slices.",
        "input.tooSmall": "Give a larger photo, or leave it out with --exclude.",
        "input.unknownFormat":
            "Convert or unpack the file, then use `nocturne resume OUT`; or leave it out with --exclude.",
        "input.unreadable": "Allow this user to read it, then use `nocturne resume OUT --failed`.",
        "input.unusableName":
            "Rename the file or folder, then use `nocturne resume OUT`; or leave it out with --exclude.",
        "item.expired": "Nothing to do: the item is processed again when its source changes.",
        "item.notReusable": "Nothing to do: the item is processed. `nocturne verify` checks the other batch.",
        "item.reused":
            "Nothing to do: the files were checked by the digests that the other batch has recorded.",
        "item.thinned": "Nothing to do: the item is processed again when its source changes.",
        "item.timeLimit": "Raise --item-timeout, then use `nocturne resume OUT --failed`.",
        "memory.notAvailable": "Close other programs or lower --memory, then use `nocturne resume OUT --failed`.",
        "nifti.missingOrientation":
            "Store the orientation in the file, or have it assumed with --assume-orientation.",
        "nifti.notLabels": "Give a label map of whole numbers from 0 to 65535; values within 0.001 of one are rounded.",
        "nifti.notNIfTI": "Download or copy the file again: its content does not match its name.",
        "nifti.notThreeDimensional": "Split the file into single volumes, or leave it out with --exclude.",
        "nifti.outOfMemory": "Close other programs or lower --memory, then use `nocturne resume OUT --failed`.",
        "nifti.unreadable":
            "Check that the file, and the one with its voxels, can be read, then use `nocturne resume OUT --failed`.",
        "nifti.unsupportedStorage": "Write the voxels to one file next to the header, raw or compressed with gzip.",
        "nifti.unsupportedDataType": "Convert the voxels to integers or floating point numbers.",
        "photo.cannotOpen": "Check that the file can be read, then use `nocturne resume OUT --failed`.",
        "photo.notAPicture": "Convert it to JPEG, PNG or TIFF if it is a picture, or leave it out with --exclude.",
        "photo.outOfMemory": "Close other programs or lower --memory, then use `nocturne resume OUT --failed`.",
        "photo.tooLarge": "Scale the picture down.",
        "photo.unsupported": "Convert the picture to JPEG, PNG or TIFF with 8 bits a channel.",
        "run.cancelled": "`nocturne resume OUT --failed` processes it.",
        "tiff.invalidSpacing":
            "Correct the file <case>.json next to the images: {\"spacing\": [pages, rows, columns]} in mm, then use `nocturne resume OUT --failed`.",
        "tiff.notTIFF": notAnInput,
        "tiff.notThreeDimensional": "Write each volume to a separate file, one page for each slice.",
        "tiff.outOfMemory": "Close other programs or lower --memory, then use `nocturne resume OUT --failed`.",
        "tiff.unreadable": "Check that the file can be read, then use `nocturne resume OUT --failed`.",
        "tiff.unsupported":
            "Write one grey page for each slice, all of one size and type, and each channel to a separate file.",
        "volume.notFinite":
            "Replace these voxels by numbers of at most 3.4e38, then use `nocturne resume OUT --failed`.",
        "volume.notLabels": "Give the label map in place of the image, or leave the file out with --exclude.",
        "volume.otherGrid": "Draw the labels on the grid of the item's own image.",
        "volume.surfaceMemory": "Give more memory with --memory, or leave the surfaces out with --meshes none.",
        "volume.tooManyTriangles":
            "Use a higher value for --isosurface, or reduce the volume; noise makes a surface around every voxel.",
    ]
}
