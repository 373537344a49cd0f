//! The model of caches (crates/caches), and a count of instructions, as a plugin of the emulator's:
//! QEMU's interface for TCG plugins, version 4 (from QEMU 9.2).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::Write;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use takt_caches::cache::LINE_BYTES;
use takt_caches::instructions::{PARTS, part_of};
use takt_caches::model::Model;
use takt_caches::{MARK, Mark};

/// Version 4 of the interface.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = 4;

type Id = u64;

/// A block of translated instructions, opaque here.
#[repr(C)]
struct Block {
    _opaque: [u8; 0],
}

/// An instruction, opaque here.
#[repr(C)]
struct Instruction {
    _opaque: [u8; 0],
}

/// Memory with a place for each processor, opaque here.
#[repr(C)]
struct Scoreboard {
    _opaque: [u8; 0],
}

/// A number in every place of a scoreboard's.
#[repr(C)]
#[derive(Clone, Copy)]
struct Number {
    scoreboard: *mut Scoreboard,
    offset: usize,
}

const NO_REGISTERS: c_int = 0;
const READS_AND_WRITES: c_int = 3;
const ADD: c_int = 0;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: extern "C" fn(Id, *mut Block));
    fn qemu_plugin_scoreboard_new(place_bytes: usize) -> *mut Scoreboard;
    fn qemu_plugin_u64_sum(number: Number) -> u64;
    fn qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
        block: *mut Block,
        operation: c_int,
        number: Number,
        operand: u64,
    );
    fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    fn qemu_plugin_insn_data(
        instruction: *const Instruction,
        to: *mut c_void,
        bytes_max: usize,
    ) -> usize;
    fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: extern "C" fn(c_uint, *mut c_void),
        registers: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: extern "C" fn(c_uint, u32, u64, *mut c_void),
        registers: c_int,
        direction: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
}

/// The model, and the file that marks are appended to.
struct Plugin {
    model: Model,
    marks: File,
}

/// No instruction is longer.
const INSTRUCTION_BYTES_MAX: usize = 15;

/// Instructions that were executed, part by part. The emulator adds to them in its translations.
static INSTRUCTIONS: AtomicPtr<Scoreboard> = AtomicPtr::new(ptr::null_mut());

fn instructions_of(part: usize) -> Number {
    Number {
        scoreboard: INSTRUCTIONS.load(Ordering::Relaxed),
        offset: part * size_of::<u64>(),
    }
}

static PLUGIN: Mutex<Option<Plugin>> = Mutex::new(None);

/// A processor of the emulator's is about to do something: the model follows. With virtual time all
/// processors are one thread, so the lock is free.
fn with(follow: impl FnOnce(&mut Plugin)) {
    if let Ok(mut plugin) = PLUGIN.lock()
        && let Some(plugin) = plugin.as_mut()
    {
        follow(plugin);
    }
}

/// An instruction begins a line, or a block: `line` is its number.
extern "C" fn fetches(_processor: c_uint, line: *mut c_void) {
    with(|plugin| plugin.model.fetch(line as u64));
}

extern "C" fn accesses(_processor: c_uint, info: u32, address: u64, _data: *mut c_void) {
    // SAFETY: the emulator's own information about the access.
    let bytes = 1 << unsafe { qemu_plugin_mem_size_shift(info) };
    with(|plugin| plugin.model.touch(address, bytes));
}

extern "C" fn marks(_processor: c_uint, _data: *mut c_void) {
    with(|plugin| {
        let mark = Mark {
            misses: plugin.model.misses(),
            // SAFETY: the scoreboard is never freed, and has a number for each part.
            instructions: std::array::from_fn(|part| unsafe {
                qemu_plugin_u64_sum(instructions_of(part))
            }),
        };
        // The laboratory finds a mark too few if it fails.
        let _ = plugin.marks.write_all(&mark.to_bytes());
    });
}

/// Instructions are translated: the model is to be told when they are executed.
extern "C" fn translates(_id: Id, block: *mut Block) {
    // SAFETY: the emulator's block, valid during this call.
    let (count, begin) = unsafe { (qemu_plugin_tb_n_insns(block), qemu_plugin_tb_vaddr(block)) };
    if let Some(part) = part_of(begin) {
        let number = instructions_of(part);
        // SAFETY: the scoreboard is never freed, and has a number for each part.
        unsafe {
            qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, ADD, number, count as u64);
        }
    }
    let mut last_line = None;
    for index in 0..count {
        let mut bytes = [0; INSTRUCTION_BYTES_MAX];
        // SAFETY: as above, the index is below the count, and no more is copied than there is room.
        let (instruction, address, length) = unsafe {
            let instruction = qemu_plugin_tb_get_insn(block, index);
            let address = qemu_plugin_insn_vaddr(instruction);
            let room = bytes.as_mut_ptr().cast();
            let length = qemu_plugin_insn_data(instruction, room, bytes.len());
            (instruction, address, length)
        };
        let line = address / LINE_BYTES;
        // SAFETY: the callbacks live as long as the program.
        unsafe {
            if last_line.replace(line) != Some(line) {
                let data = line as *mut c_void;
                qemu_plugin_register_vcpu_insn_exec_cb(instruction, fetches, NO_REGISTERS, data);
            }
            if bytes[..length] == MARK {
                let data = ptr::null_mut();
                qemu_plugin_register_vcpu_insn_exec_cb(instruction, marks, NO_REGISTERS, data);
            }
            qemu_plugin_register_vcpu_mem_cb(
                instruction,
                accesses,
                NO_REGISTERS,
                READS_AND_WRITES,
                ptr::null_mut(),
            );
        }
    }
}

/// The emulator loads the plugin with `marks=PATH`, a file. Not 0: it does not start.
///
/// # Safety
/// For the emulator only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    _info: *const c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    let count = usize::try_from(argc).unwrap_or(0);
    // SAFETY: the emulator passes so many strings.
    let file = (0..count).find_map(|index| unsafe {
        let argument = CStr::from_ptr(*argv.add(index)).to_str().ok()?;
        argument.strip_prefix("marks=")
    });
    let Some(Ok(marks)) = file.map(File::create) else {
        return 1;
    };
    if let Ok(mut plugin) = PLUGIN.lock() {
        *plugin = Some(Plugin {
            model: Model::default(),
            marks,
        });
    }
    // SAFETY: the emulator gives the memory, and the callback lives as long as the program.
    unsafe {
        let scoreboard = qemu_plugin_scoreboard_new(PARTS.len() * size_of::<u64>());
        INSTRUCTIONS.store(scoreboard, Ordering::Relaxed);
        qemu_plugin_register_vcpu_tb_trans_cb(id, translates);
    }
    0
}
