/* Runs a program in CV32E40P with memory of one cycle: 64 MB at 80000000, a UART at 10000000, and at 00100000 a word
 * whose store ends the run. +image=FILE is the memory's content, +marks=FILE hexadecimal addresses in its first MB.
 * Each time an instruction at one of them leaves the decoder, prints "at INSTRUCTIONS CYCLES" before it. */
module cv32e40p_bench;
    localparam logic [31:0] BASE = 32'h80000000, UART = 32'h10000000, TEST_DEVICE = 32'h00100000;
    /* Counters stand still after reset: csrwi mcountinhibit, 0; lui t0, 0x80000; jr t0 */
    localparam logic [31:0] BOOT[4] = '{32'h32005073, 32'h800002B7, 32'h00028067, 0};

    logic [31:0] memory[2**24];
    logic marked[2**19];
    logic clock = 0, reset_n = 0, code_valid = 0, data_valid = 0;
    logic code_request, data_request, data_write;
    logic [31:0] code_address, code, data_address, stored, loaded, pc;
    logic [3:0] lanes;
    longint unsigned cycles = 0, instructions = 0;

    cv32e40p_top dut (
        .clk_i(clock), .rst_ni(reset_n), .pulp_clock_en_i(1'b1), .scan_cg_en_i(1'b0),
        .boot_addr_i(0), .mtvec_addr_i(0), .dm_halt_addr_i(0), .hart_id_i(0), .dm_exception_addr_i(0),
        .instr_req_o(code_request), .instr_gnt_i(1'b1), .instr_rvalid_i(code_valid), .instr_addr_o(code_address),
        .instr_rdata_i(code), .data_req_o(data_request), .data_gnt_i(1'b1), .data_rvalid_i(data_valid),
        .data_we_o(data_write), .data_be_o(lanes), .data_addr_o(data_address), .data_wdata_o(stored),
        .data_rdata_i(loaded), .irq_i(0), .irq_ack_o(), .irq_id_o(), .debug_req_i(1'b0), .debug_havereset_o(),
        .debug_running_o(), .debug_halted_o(), .fetch_enable_i(1'b1), .core_sleep_o()
    );
    assign pc = dut.core_i.pc_id;

    initial begin
        string name;
        int file;
        logic [31:0] address;
        void'($value$plusargs("image=%s", name));
        file = $fopen(name, "rb");
        if (file == 0 || $fread(memory, file) == 0) $fatal(1, "no +image");
        void'($value$plusargs("marks=%s", name));
        file = $fopen(name, "r");
        while ($fscanf(file, "%h", address) == 1) marked[address[19:1]] = 1;
        #4 reset_n = 1;
        forever #1 clock = ~clock;
    end

    always @(posedge clock) begin
        cycles <= cycles + 1;
        if (dut.core_i.id_valid && dut.core_i.is_decoding && pc >= BASE) begin
            instructions <= instructions + 1;
            if (marked[pc[19:1]]) $display("at %0d %0d", instructions, cycles);
        end
        code_valid <= code_request;
        code <= code_address < BASE ? BOOT[code_address[3:2]] : {<<8{memory[code_address[25:2]]}};
        data_valid <= data_request;
        loaded <= {<<8{memory[data_address[25:2]]}};
        if (data_request && data_write) begin
            if (data_address == UART) $write("%c", stored[7:0]);
            else if (data_address == TEST_DEVICE) $finish(0);
            else
                for (int lane = 0; lane < 4; lane++)
                    if (lanes[lane]) memory[data_address[25:2]][24-8*lane+:8] <= stored[8*lane+:8];
        end
    end
endmodule
